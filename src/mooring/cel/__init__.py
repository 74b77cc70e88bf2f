"""CEL, the expression language of device selectors and of validation rules.

An expression is parsed once, compiled to Python functions, and evaluated with variables. An
expression that is invalid or not supported raises CompileError.
"""
