"""Operations that TensorFlow 1 has in another form than this library: ``tf`` lists them one by one."""
