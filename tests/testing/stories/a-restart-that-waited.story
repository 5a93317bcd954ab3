seed 402370
setting jobs=ps:1,worker:2 clients=3 lanes=3 restart=1000 down=6.267 snapshot_every=3.025 lease=2.957 shuffle=0
client 1.0: pair v=1 k=1 w=2 l=0 pause=0.007416
client 2.0: put q=1 e=0 via=-1 pause=0.02912
client 0.1: read v=1 pause=0.006599 cancel=0.2111
client 1.1: add v=1 k=2 via=0 pause=0.007453
client 2.1: add v=2 k=1 via=-1 pause=0.002059
client 0.2: read v=0 pause=0.001174
client 1.2: put q=1 e=1 via=0 pause=6.38e-05
client 2.2: add v=0 k=0 via=-1 pause=0.01236
client 0.0: take q=0 via=0 pause=0.001927 limit=0.937
client 2.0: put q=1 e=2 via=0 pause=0.02125 cancel=7.625
client 2.0: add v=2 k=2 via=0 pause=0.001366
client 1.1: guard v=1 k=3 at=0 pause=0.01401
client 0.2: meet at=2 pause=0.009906 limit=0.1794
client 1.2: meet at=3 pause=0.009906 limit=0.1794
client 0.0: put q=1 e=7 via=-1 pause=0.004251
client 1.1: put q=1 e=8 via=-1 pause=0.009261
client 2.1: extend a=0 b=0 x=3 n=0 pause=0.008027
client 0.2: guard v=0 k=5 at=0 pause=0.01116 limit=0.04917
fault 0.0475047 end worker-1 after 163
fault 0.074261 crash worker-1 after 399
fault 0.07667 restart worker-1 after 136
fault 0.129202 power ps-0 after 8
fault 0.162479 power worker-1 after 279
fault 0.181781 narrow client-2 client-1 by 63513.3 for 0.687158
fault 0.196029 ghost ps-0 worker-0 by 2.27688 for 5.0143
fault 0.2183 foreign worker-1 for 0.236673 after 44
fault 0.235282 leave worker-1 after 196
