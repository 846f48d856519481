"""Networks: small value networks for search kernels, torch networks for policies, and their files.

| module | content |
|---|---|
| `value` | the value network that search kernels evaluate at leaves |
| `value_files` | value networks as .safetensors files; bundled value networks |
| `policy` | torch networks for policies |
| `checkpoint` | checkpoints of training, read without running code from the file |
| `export` | ONNX and safetensors files of a policy |
"""
