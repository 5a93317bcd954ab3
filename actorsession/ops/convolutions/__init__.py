"""Operations with windows that slide over images: convolutions, pooling and dilation."""
