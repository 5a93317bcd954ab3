"""temporary"""
from actorsession.ops import arithmetic, array, control, elementwise, gather, matmul, placeholder, state, training, variables

