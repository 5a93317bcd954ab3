seed 2
setting jobs=worker:2 clients=2 lanes=1 restart=3 down=1.0 snapshot_every=0.5 lease=4.0 shuffle=0
client 0.0: add v=1 k=0 via=-1 pause=0.1
client 1.0: add v=0 k=0 via=-1 pause=0.1
client 0.0: read v=1 pause=20.0
fault 2 foreign worker-1 for 0.2
fault 2.1 crash worker-1
fault 2.3 power worker-1
