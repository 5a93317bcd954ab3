seed 1
setting jobs=worker:2 clients=2 lanes=1 restart=0 down=1.0 snapshot_every=0.0 lease=4.0 shuffle=0
client 1.0: take q=1 via=-1 limit=9.0
fault 1 leave worker-1
