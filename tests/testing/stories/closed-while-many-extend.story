seed 448677
setting jobs=ps:2,worker:2 clients=2 lanes=3 restart=1000 down=4.325 snapshot_every=0.5082 lease=2.049 shuffle=0
client 1.1: put q=0 e=1 via=0 pause=0.0425
client 0.2: put q=1 e=2 via=0 pause=0.01619
client 0.0: take q=1 via=-1 pause=0.05087 limit=0.001371
client 0.1: add v=3 k=1 via=-1 pause=0.1214 cancel=0.477
client 0.0: take q=1 via=0 pause=0.02567 limit=0.1935
client 0.1: reopen pause=0.008297
client 1.1: take q=1 via=-1 pause=0.0002522 limit=0.4033
client 0.2: pair v=2 k=2 w=0 l=1 pause=0.04417
client 0.0: pair v=3 k=2 w=0 l=2 pause=0.03049
fault 0.00971717 power worker-1 after 140
