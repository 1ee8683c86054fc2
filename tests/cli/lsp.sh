# gtsh --lsp with a client of its own protocol, pygls (.venv/bin/pip install pygls; GT_PYTHON chooses the interpreter).
. tests/fixtures/check.sh
python=${GT_PYTHON:-python3}
[ -z "$GT_PYTHON" ] && [ -x .venv/bin/python ] && python=.venv/bin/python
code "no client" 1 sh -c '"$GTSH" --lsp </dev/null'
if "$python" -c 'import pygls.lsp.client' 2>/dev/null; then
    code "pygls" 0 timeout 60 "$python" -B tests/fixtures/lsp_client.py "$GTSH"
else
    skip "pygls is not installed"
fi
finish
