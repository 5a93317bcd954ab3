seed 301187
setting jobs=worker:2 clients=2 lanes=3 restart=0 down=8.936 snapshot_every=0.0 lease=5.416 shuffle=0
client 0.0: pair v=1 k=0 w=0 l=0 pause=0.009061 limit=6.591
client 1.0: put q=1 e=0 via=0 pause=4.671e-05
client 0.1: add v=1 k=1 via=0 pause=0.004006
client 1.1: pair v=1 k=2 w=0 l=1 pause=0.0008937
client 0.2: put q=1 e=1 via=0 pause=0.008292
client 1.2: take q=0 via=0 pause=0.00163 limit=3.241
client 0.0: partial a=1 b=1 x=3 pause=0.008011
client 1.0: add v=1 k=3 via=-1 pause=0.0005875
client 0.1: pair v=1 k=4 w=0 l=2 pause=0.000165
client 0.1: meet at=0 pause=0.004164 limit=8.651
client 1.1: meet at=1 pause=0.004164 limit=8.651
client 1.2: take q=1 via=-1 pause=0.0005021 limit=0.008061
client 1.0: guard v=0 k=3 at=0 pause=0.0005157
client 1.1: put q=0 e=2 via=0 pause=0.0004246
client 0.2: compute a=0 b=0 x=100 pause=0.00532 cancel=6.492
client 1.0: restore pause=0.000618
client 1.1: reopen pause=0.003645
client 1.0: take q=0 via=-1 pause=0.001333 limit=0.4988
client 0.1: guard v=1 k=8 at=0 pause=0.00159
client 0.2: put q=1 e=3 via=0 pause=0.01321
