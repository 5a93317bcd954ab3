seed 1
setting jobs=worker:2 clients=2 lanes=1 restart=0 down=1.0 snapshot_every=0.3 lease=4.0 shuffle=0
client 1.0: add v=1 k=0 via=-1
client 1.0: compute a=0 b=0 x=3 pause=5.0
client 1.0: read v=1 pause=9.0
fault 4.5 leave worker-1
