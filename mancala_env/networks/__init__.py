"""Networks: small ones inside kernels, torch ones for policies, and their files.

| module | content |
|---|---|
| `value` | the value network that kernels call at the leaves of a search |
| `value_files` | value networks as .safetensors files, and the bundled ones |
| `policy` | the torch networks that policies are made of |
| `checkpoint` | checkpoints of training: what they hold, read without running any of it |
| `export` | ONNX and safetensors files of a policy |
"""
