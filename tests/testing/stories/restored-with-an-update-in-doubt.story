seed 1
setting jobs=worker:2 clients=1 lanes=1 restart=0 down=1.0 snapshot_every=0.0 lease=5.0 shuffle=0
client 0.0: add v=1 k=0 via=-1 pause=0.1 cancel=0.0004
client 0.0: save n=0 at=0 pause=1.0
client 0.0: read v=1 pause=45.0
client 0.0: read v=1 pause=1.0
client 0.0: read v=1 pause=1.0
client 0.0: restore n=0 at=0 pause=1.0
client 0.0: read v=1 pause=1.0
fault 43.5 crash worker-1
