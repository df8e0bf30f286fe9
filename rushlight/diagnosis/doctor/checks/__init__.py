"""What the doctor looks for: each module enters its checks."""
