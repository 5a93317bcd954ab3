seed 402861
setting jobs=worker:2 clients=2 lanes=2 restart=0 down=5.0 snapshot_every=0.0 lease=5.0 shuffle=0
client 1.0: partial a=1 b=1 x=1 pause=0.1
client 1.1: reopen pause=0.1
