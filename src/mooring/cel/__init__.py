"""CEL, the expression language of device selectors and of validation rules.

An expression is parsed once, turned into Python functions, and evaluated on variables. An
expression that is not understood is a CompileError.
"""
