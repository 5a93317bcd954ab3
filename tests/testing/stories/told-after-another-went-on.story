seed 502619
setting jobs=worker:2 clients=3 lanes=1 restart=0 down=8.949 snapshot_every=0.0 lease=5.837 shuffle=0
client 0.0: pair v=1 k=11 w=0 l=11 pause=0.02183 limit=0.1076
client 1.0: compute a=1 b=0 x=3 pause=0.0002579
client 2.0: put q=0 e=5 via=1 pause=0.02649
client 0.0: put q=0 e=6 via=-1 pause=0.0001414 limit=0.001272
client 1.0: take q=1 via=-1 pause=0.08313 cancel=0.0426
client 2.0: compute a=1 b=0 x=100 pause=0.01042
client 0.0: take q=1 via=-1 pause=0.07201 limit=3.191
client 1.0: pair v=1 k=12 w=0 l=12 pause=0.1351 cancel=0.1631
client 0.0: reduce x=50 pause=0.02554
client 1.0: compute a=1 b=0 x=3 pause=0.05631
client 2.0: read v=0 pause=0.05837
client 0.0: read v=1 pause=0.003891 limit=3.819
client 1.0: reduce x=1 pause=0.01796
client 0.0: add v=1 k=16 via=-1 pause=0.02868 cancel=5.002
client 2.0: add v=0 k=16 via=-1 pause=0.04686
client 0.0: guard v=1 k=18 at=0 pause=0.05121
client 1.0: read v=1 pause=0.02454
client 2.0: take q=0 via=1 pause=0.2135 limit=0.05926
client 0.0: take q=1 via=1 pause=0.01316 limit=0.01562
client 0.0: put q=1 e=9 via=1 pause=0.02575 limit=2.435
client 1.0: extend a=1 b=0 x=3 n=4 pause=0.07013 limit=0.002317
client 0.0: extend a=1 b=0 x=1 n=5 pause=0.07133
client 0.0: add v=1 k=20 via=-1 pause=0.01767
client 0.0: add v=0 k=19 via=1 pause=0.03032 cancel=1.843
client 1.0: add v=1 k=21 via=1 pause=0.007179
client 0.0: meet at=0 pause=0.00697 limit=9.353
client 1.0: meet at=1 pause=0.00697 limit=9.353
client 0.0: add v=0 k=24 via=1 pause=0.06226
client 1.0: add v=0 k=25 via=1 pause=0.04174 limit=0.2949
client 1.0: add v=0 k=27 via=-1 pause=0.01081
client 1.0: take q=0 via=-1 pause=0.07248 limit=2.826
client 2.0: read v=1 pause=0.08765
client 1.0: put q=0 e=12 via=-1 pause=0.08904
client 1.0: partial a=1 b=0 x=1 pause=0.04305
client 0.0: take q=1 via=1 pause=0.03209 limit=0.001819
client 1.0: read v=0 pause=0.00738 cancel=0.1635
client 1.0: add v=0 k=31 via=1 pause=0.05542
client 0.0: visit a=1 x=1 pause=0.01304 cancel=5.786
client 1.0: save n=9 at=0 pause=0.008025
client 0.0: take q=1 via=-1 pause=0.00279 limit=0.1306
client 1.0: compute a=1 b=0 x=1 pause=0.004823 cancel=0.004023
client 0.0: restore n=2 at=0 pause=0.0265
client 1.0: pair v=1 k=32 w=0 l=32 pause=0.02139
client 0.0: add v=1 k=33 via=1 pause=0.03158
client 1.0: add v=0 k=33 via=-1 pause=0.01976
client 0.0: restore n=7 at=1 pause=0.02224
client 1.0: compute a=1 b=0 x=1 pause=0.006066
client 2.0: visit a=1 x=50 pause=0.04495
client 0.0: add v=1 k=34 via=1 pause=0.008666
client 1.0: put q=1 e=15 via=1 pause=0.1053
client 2.0: put q=1 e=16 via=1 pause=0.2315
client 0.0: add v=1 k=35 via=-1 pause=0.1236
client 1.0: add v=1 k=36 via=-1 pause=0.05091
client 2.0: take q=0 via=1 pause=0.05028 limit=0.004396
client 0.0: meet at=8 pause=0.002249 limit=0.0264
client 1.0: meet at=9 pause=0.002249 limit=0.0264
client 1.0: compute a=1 b=0 x=3 pause=0.08356
client 0.0: compute a=1 b=0 x=1 pause=0.06041
client 1.0: compute a=1 b=0 x=1 pause=0.151
client 0.0: add v=0 k=34 via=-1 pause=0.01411
client 1.0: partial a=1 b=0 x=3 pause=0.01194
client 0.0: add v=0 k=35 via=-1 pause=0.00884
client 1.0: add v=0 k=36 via=-1 pause=0.07655
client 0.0: extend a=1 b=0 x=1 n=7 pause=0.04038
client 1.0: take q=0 via=-1 pause=0.01095 limit=1.294
client 1.0: add v=1 k=39 via=1 pause=0.1716
client 2.0: take q=0 via=-1 pause=0.03729 limit=1.241
client 1.0: add v=0 k=37 via=-1 pause=0.1565
client 0.0: put q=0 e=18 via=-1 pause=0.065
client 0.0: meet at=10 pause=0.07967 limit=5.827
client 1.0: meet at=11 pause=0.07967 limit=5.827
client 2.0: compute a=1 b=0 x=3 pause=0.02877
client 1.0: add v=1 k=43 via=1 pause=0.09436
client 2.0: guard v=1 k=44 at=0 pause=0.037
client 1.0: meet at=13 pause=0.08529 limit=0.005319
fault 0.0459233 tear worker-0 by 0.650421 for 11.4067 after 251
fault 0.412618 stall client-2 for 18.3857
fault 1.67395 vanish worker-0 client-1
fault 2.73295 leave worker-1 after 194
