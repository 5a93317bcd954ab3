"""Operations on arrays that few programs build: selection, counting, updates in place, layouts of images."""
