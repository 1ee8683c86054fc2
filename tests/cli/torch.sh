# Checkpoints go to PyTorch and back, and files to NumPy and Python, if there is a Python with torch (GT_PYTHON names one).
. tests/fixtures/check.sh
python=${GT_PYTHON:-python3}
[ -z "$GT_PYTHON" ] && [ -x .venv/bin/python ] && python=.venv/bin/python
if "$python" -c "import torch" 2>/dev/null; then
    code "interchange" 0 "$python" -W ignore -B tests/torch/interchange.py "$GTSH" "$TMP"
    has "interchange" "$(out)" " models, 0 problems"
else
    skip "PyTorch is not installed"
fi
if "$python" -c "import numpy" 2>/dev/null; then
    mkdir "$TMP/formats"
    code "formats" 0 "$python" -W ignore -B tests/torch/formats.py "$GTSH" "$TMP/formats"
    has "formats" "$(out)" " comparisons, 0 problems"
else
    skip "NumPy is not installed"
fi
finish
