/* io_events.c: TensorBoard's event files, scalars only. A file is a row of records: the length in 8
 * bytes, its checksum, the data, their checksum; numbers are little-endian. The data are an Event
 * of protobuf: a field is its number * 8 + its wire type (0 varint, 1 and 5: 8 and 4 bytes, 2: a
 * length, then bytes). Checksums are CRC-32C, rotated and shifted ("masked").
 * SPDX-License-Identifier: MIT */
#include "lang/file/io.h"
#include "runtime/base/utf8.h"
#include <string.h>

enum { VARINT = 0, EIGHT = 1, BYTES = 2, FOUR = 5 };
enum { EVENT_TIME = 1, EVENT_STEP = 2, EVENT_VERSION = 3, EVENT_SUMMARY = 5, EVENT_SESSION = 7 };
enum { SUMMARY_VALUE = 1, VALUE_TAG = 1, VALUE_SIMPLE = 2, SESSION_STATUS = 1, SESSION_START = 1 };

static uint32_t crc32c(const void *data, size_t n) {
    const uint8_t *p = data;
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

static uint32_t masked_crc(const void *data, size_t n) {
    uint32_t crc = crc32c(data, n);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void put_little(uint64_t v, int bytes, Bytes *out) {
    for (int i = 0; i < bytes; i++) bytes_putc(out, (char)(v >> 8 * i));
}

static void put_varint(uint64_t v, Bytes *out) {
    for (; v >= 0x80; v >>= 7) bytes_putc(out, (char)(v | 0x80));
    bytes_putc(out, (char)v);
}

static void put_field(int number, int wire_type, Bytes *out) {
    put_varint((uint64_t)number << 3 | (uint64_t)wire_type, out);
}

static void put_bytes(int number, const void *data, size_t n, Bytes *out) {
    put_field(number, BYTES, out);
    put_varint(n, out);
    bytes_add(out, data, n);
}

static void put_time(double seconds, Bytes *out) {
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof bits);
    put_field(EVENT_TIME, EIGHT, out);
    put_little(bits, 8, out);
}

static void put_record(const Bytes *event, Bytes *out) {
    size_t at = out->n;
    put_little(event->n, 8, out);
    put_little(masked_crc(out->data + at, 8), 4, out);
    bytes_add(out, event->data, event->n);
    put_little(masked_crc(event->data, event->n), 4, out);
}

void events_begin(double seconds, Bytes *out) {
    static const char version[] = "brain.Event:2";
    static const char session[] = {SESSION_STATUS << 3 | VARINT, SESSION_START};
    Bytes event = {0};
    put_time(seconds, &event);
    put_bytes(EVENT_VERSION, version, sizeof version - 1, &event);
    put_record(&event, out);
    event.n = 0;
    put_time(seconds, &event);
    put_bytes(EVENT_SESSION, session, sizeof session, &event);
    put_record(&event, out);
    bytes_fini(&event);
}

/* Readers refuse text that is not UTF-8: its bytes become question marks. */
static void put_tag(const char *name, Bytes *out) {
    Bytes tag = {0};
    bytes_puts(&tag, "");
    for (size_t n = strlen(name); n;) {
        int step = utf8_decode(name, n, NULL);
        if (step)
            bytes_add(&tag, name, (size_t)step);
        else
            bytes_putc(&tag, '?');
        name += step ? step : 1;
        n -= step ? (size_t)step : 1;
    }
    put_bytes(VALUE_TAG, tag.data, tag.n, out);
    bytes_fini(&tag);
}

void events_scalars(double seconds, int64_t step, const char *const *name, const double *value,
                    int n, Bytes *out) {
    Bytes event = {0}, summary = {0}, one = {0};
    for (int i = 0; i < n; i++) {
        float f = (float)value[i];
        uint32_t bits;
        memcpy(&bits, &f, sizeof bits);
        one.n = 0;
        put_tag(name[i], &one);
        put_field(VALUE_SIMPLE, FOUR, &one);
        put_little(bits, 4, &one);
        put_bytes(SUMMARY_VALUE, one.data, one.n, &summary);
    }
    put_time(seconds, &event);
    if (step) { /* 0 is the default, which protobuf leaves out */
        put_field(EVENT_STEP, VARINT, &event);
        put_varint((uint64_t)step, &event);
    }
    put_bytes(EVENT_SUMMARY, summary.data, summary.n, &event);
    put_record(&event, out);
    bytes_fini(&event);
    bytes_fini(&summary);
    bytes_fini(&one);
}
