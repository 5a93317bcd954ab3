"""Windows that slide over images: convolutions, pools, dilation."""
