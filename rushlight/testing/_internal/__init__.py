"""What tests of other libraries take from PyTorch's own tests."""
