# Checkpoints go to PyTorch and back, if there is a Python with torch (GT_PYTHON names one).
. tests/fixtures/check.sh
python=${GT_PYTHON:-python3}
[ -z "$GT_PYTHON" ] && [ -x .venv/bin/python ] && python=.venv/bin/python
if "$python" -c "import torch" 2>/dev/null; then
    code "interchange" 0 "$python" -W ignore -B tests/torch/interchange.py "$GTSH" "$TMP"
    has "interchange" "$(out)" " models, 0 problems"
fi
finish
