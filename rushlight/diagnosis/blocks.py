"""The blocks of statements in a syntax tree."""

from __future__ import annotations

import ast


def blocks(node: ast.AST) -> list[list[ast.stmt]]:
    """The blocks that a statement has: its body, what follows else, what follows finally."""
    held = (getattr(node, field, None) for field in ("body", "orelse", "finalbody"))
    return [block for block in held if isinstance(block, list)]


def block_of(statement: ast.stmt) -> list[ast.stmt]:
    """The block that a statement stands in."""
    around = blocks(getattr(statement, "parent", None))
    return next((block for block in around if statement in block), [statement])
