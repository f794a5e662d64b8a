BEGIN TRANSACTION;
CREATE TABLE discreet_events (
	number INTEGER NOT NULL, 
	at FLOAT NOT NULL, 
	who VARCHAR NOT NULL, 
	what VARCHAR NOT NULL, 
	about TEXT NOT NULL, 
	PRIMARY KEY (number)
);
INSERT INTO "discreet_events" VALUES(1,1.79503699025327968603e+09,'test','opened a table','{"table": "people"}');
INSERT INTO "discreet_events" VALUES(2,1.79503699026328682902e+09,'test','opened a table','{"table": "asked"}');
INSERT INTO "discreet_events" VALUES(3,1.79503699027036046987e+09,'test','opened a table','{"table": "small"}');
INSERT INTO "discreet_events" VALUES(4,1.7950369902771661282e+09,'test','made a key','{"person": "ada", "role": "analyst", "key": "190787ba"}');
INSERT INTO "discreet_events" VALUES(5,1.79503699028221130372e+09,'test','made a key','{"person": "bob", "role": "analyst", "key": "96668d4a"}');
INSERT INTO "discreet_events" VALUES(6,1.79503699028315949438e+09,'test','made a key','{"person": "carl", "role": "custodian", "key": "1a3b8496"}');
INSERT INTO "discreet_events" VALUES(7,1.79503699033875942225e+09,'ada','asked for a fit','{"job": "d75910d80f82a5bc6cfdaa8d328f3838", "table": "people"}');
INSERT INTO "discreet_events" VALUES(8,1.79503699116867899889e+09,'service','fit: done','{"job": "d75910d80f82a5bc6cfdaa8d328f3838", "table": "people"}');
INSERT INTO "discreet_events" VALUES(9,1.79503699217719674108e+09,'ada','asked for a fit','{"job": "9725330193407d4a3a76d4cf05bc4e55", "table": "asked"}');
CREATE TABLE discreet_facts (
	name VARCHAR NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
);
CREATE TABLE discreet_files (
	job VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	content TEXT NOT NULL, 
	PRIMARY KEY (job, name)
);
INSERT INTO "discreet_files" VALUES('d75910d80f82a5bc6cfdaa8d328f3838','release.json','{
 "kind": "release",
 "format_version": 3,
 "certificate": {
  "guarantee": {
   "epsilon": 0.5,
   "delta": 1e-07,
   "neighbors": "add-remove",
   "status": "verified",
   "reason": ""
  },
  "method": "DPLinearRegression",
  "unit": "one row is one person",
  "simulation": false,
  "rows": 2000,
  "domain": {
   "columns": {
    "age": {
     "low": 18.0,
     "high": 90.0,
     "unit": "year"
    },
    "sex": {
     "levels": [
      "F",
      "M"
     ]
    },
    "income": {
     "low": 0.0,
     "high": 100000.0,
     "unit": "EUR"
    }
   },
   "intercept": true,
   "missing": "error"
  },
  "declared": null,
  "events": [
   {
    "mechanism": "gaussian",
    "mu": 0.033341333377380974,
    "blocks": [
     {
      "statistic": "counts",
      "rows": [],
      "columns": [
       "income"
      ],
      "sd": 29.992801687961737,
      "layout": "weighted",
      "exact": true
     }
    ]
   },
   {
    "mechanism": "gaussian",
    "mu": 0.033341333377380974,
    "blocks": [
     {
      "statistic": "counts",
      "rows": [],
      "columns": [
       "income"
      ],
      "sd": 29.992801687961737,
      "layout": "weighted",
      "exact": true,
      "span": [
       -1.0,
       1.0
      ]
     }
    ]
   },
   {
    "mechanism": "gaussian",
    "mu": 0.017436381081640244,
    "blocks": [
     {
      "statistic": "sums",
      "rows": [
       "age",
       "sex[F]",
       "sex[M]"
      ],
      "columns": [],
      "sd": 114.70270067140986,
      "layout": "weighted",
      "exact": true
     },
     {
      "statistic": "diagonal",
      "rows": [
       "age",
       "sex[F]",
       "sex[M]"
      ],
      "columns": [],
      "sd": 114.70270067140986,
      "layout": "weighted",
      "exact": true
     }
    ]
   },
   {
    "mechanism": "gaussian, private coordinates",
    "mu": 0.02251027118244084,
    "coordinates": {
     "design": [
      "(intercept)",
      "age",
      "sex[F]",
      "sex[M]"
     ],
     "outcomes": [
      "income"
     ],
     "P": {
      "integers": [
       [
        2147483648,
        0,
        0,
        0
       ],
       [
        0,
        4133531335,
        0,
        0
       ],
       [
        -972581181,
        0,
        1792783095,
        0
       ],
       [
        -987554415,
        0,
        0,
        1909755011
       ]
      ],
      "exponents": [
       31,
       31,
       30,
       30
      ]
     },
     "theta": {
      "integers": [
       [
        -240727919,
        0,
        0,
        0
       ]
      ],
      "exponents": [
       32
      ]
     },
     "radius": 0.5,
     "widths": [
      [
       0.009317770102045467,
       0.013510766647965928,
       0.019590611639550594,
       0.02840638687734836,
       0.04118926097215512,
       0.05972442840962492,
       0.08660042119395614,
       0.1255706107312364,
       0.18207738556029276,
       0.2640122090624245
      ]
     ]
    },
    "blocks": [
     {
      "statistic": "counts",
      "columns": [
       "income"
      ],
      "sd": 140.4815443820659
     },
     {
      "statistic": "gram",
      "columns": [],
      "sd": 75.09097370680676
     },
     {
      "statistic": "cross",
      "columns": [
       "income"
      ],
      "sd": 62.82543630899142
     },
     {
      "statistic": "squares",
      "columns": [
       "income"
      ],
      "sd": 198.67090532823548
     }
    ],
    "chosen": [
     6
    ]
   },
   {
    "mechanism": "gaussian, private coordinates",
    "mu": 0.03487276216328589,
    "coordinates": {
     "design": [
      "(intercept)",
      "age",
      "sex[F]",
      "sex[M]"
     ],
     "outcomes": [
      "income"
     ],
     "P": {
      "integers": [
       [
        2147483648,
        0,
        0,
        0
       ],
       [
        5797193,
        2282363622,
        0,
        0
       ],
       [
        -1169547364,
        112811125,
        2263966501,
        0
       ],
       [
        1342042256,
        29561418,
        -1256652506,
        -1332073220
       ]
      ],
      "exponents": [
       31,
       30,
       30,
       28
      ]
     },
     "theta": {
      "integers": [
       [
        -392879108,
        1505388699,
        -60700495,
        155084028
       ]
      ],
      "exponents": [
       32
      ]
     },
     "radius": 0.4242731711421436,
     "widths": [
      [
       0.009317770102045467,
       0.013510766647965928,
       0.019590611639550594,
       0.02840638687734836,
       0.04118926097215512,
       0.05972442840962492,
       0.08660042119395614,
       0.1255706107312364,
       0.18207738556029276,
       0.2640122090624245
      ]
     ],
     "lengths": [
      1.6970926845685743,
      2.018194695308017,
      2.400051491121043,
      2.854158309614034,
      3.3941853691371486,
      4.036389390616034,
      4.800102982242086,
      5.708316619228068,
      6.788370738274297,
      8.072778781232069,
      9.600205964484172,
      11.416633238456136,
      13.576741476548595,
      16.145557562464138,
      19.200411928968343,
      22.83326647691227,
      27.15348295309719
     ]
    },
    "blocks": [
     {
      "statistic": "counts",
      "columns": [
       "income"
      ],
      "sd": 95.58558389282672
     },
     {
      "statistic": "lengths",
      "columns": [],
      "sd": 90.68044697353092
     },
     {
      "statistic": "gram",
      "columns": [],
      "sd": 51.09293607511286
     },
     {
      "statistic": "cross",
      "columns": [
       "income"
      ],
      "sd": 42.74729495131587
     },
     {
      "statistic": "squares",
      "columns": [
       "income"
      ],
      "sd": 135.1784291085868
     }
    ],
    "chosen": [
     3
    ]
   },
   {
    "mechanism": "gaussian, private coordinates",
    "mu": 0.09004108472979684,
    "coordinates": {
     "design": [
      "(intercept)",
      "age",
      "sex[F]",
      "sex[M]"
     ],
     "outcomes": [
      "income"
     ],
     "P": {
      "integers": [
       [
        2147483648,
        0,
        0,
        0
       ],
       [
        -37254614,
        -3959702232,
        0,
        0
       ],
       [
        942034962,
        29966745,
        -2098793075,
        0
       ],
       [
        -1404040076,
        -46360718,
        1427513570,
        1359551206
       ]
      ],
      "exponents": [
       31,
       31,
       30,
       26
      ]
     },
     "theta": {
      "integers": [
       [
        -282989755,
        878631281,
        -18471438,
        201795583
       ]
      ],
      "exponents": [
       31
      ]
     },
     "radius": 2.0294593915827703,
     "widths": [
      [
       0.08838834764831845,
       0.125,
       0.1767766952966369,
       0.25,
       0.3535533905932738,
       0.5,
       0.7071067811865476,
       1.0,
       1.4142135623730951,
       2.0
      ]
     ]
    },
    "blocks": [
     {
      "statistic": "counts",
      "columns": [
       "income"
      ],
      "sd": 49.6677263320404
     },
     {
      "statistic": "gram",
      "columns": [],
      "sd": 32.06056293922205
     },
     {
      "statistic": "cross",
      "columns": [
       "income"
      ],
      "sd": 12.416967108136317
     },
     {
      "statistic": "squares",
      "columns": [
       "income"
      ],
      "sd": 64.12075897599335
     }
    ],
    "chosen": [
     2
    ]
   }
  ],
  "software": "discreet 0.2.0",
  "ledger": [
   {
    "ledger": "272620ec57e04455926bcddfc50d2185",
    "account": "town/people",
    "entry": 4,
    "hash": "1b537572a666ce6db7531112a953255d6b00c5c1b90ba841d5d2c2deef898235"
   }
  ]
 },
 "values": [
  [
   {
    "exponent": 14,
    "integers": [
     "1210757977",
     "-3079743784",
     "2890362342",
     "13086186051",
     "16428728657",
     "16070016398",
     "16719767331",
     "20362144358",
     "20550437138",
     "13884760847",
     "14424804504",
     "1562921920",
     "573467618",
     "666889458",
     "-147824592",
     "2748170423"
    ]
   }
  ],
  [
   {
    "exponent": 14,
    "integers": [
     "-2127551749",
     "394890871",
     "1622038922",
     "9658653382",
     "13595138436",
     "15583111694",
     "19681995725",
     "20886750489",
     "18283707644",
     "17904789675",
     "14273781149",
     "3464318116",
     "2087924658",
     "1106851912",
     "379969490",
     "2443624437"
    ]
   }
  ],
  [
   {
    "exponent": 16,
    "integers": [
     "883692058",
     "18203211076",
     "17351349925"
    ]
   }
  ],
  [
   {
    "exponent": 16,
    "integers": [
     "7984078556",
     "19794995100",
     "17511922489"
    ]
   }
  ],
  [
   {
    "exponent": 17,
    "integers": [
     "1533892827",
     "-1531452107",
     "1464117137",
     "2561280700",
     "2161278507",
     "2878990328",
     "4357524182",
     "3208538440",
     "427636395",
     "-1415648800",
     "-173027019"
    ]
   }
  ],
  [
   {
    "exponent": 16,
    "integers": [
     "12464201177",
     "9409121982",
     "7051735464",
     "8801062897"
    ]
   },
   {
    "exponent": 15,
    "integers": [
     "-121876152",
     "-1072981636",
     "126554849",
     "-933851981",
     "1378129756",
     "-16425329299"
    ]
   }
  ],
  [
   {
    "exponent": 15,
    "integers": [
     "-5052753064",
     "21843132348",
     "-3486897612",
     "3712359175"
    ]
   }
  ],
  [
   {
    "exponent": 17,
    "integers": [
     "9747983163"
    ]
   }
  ],
  [
   {
    "exponent": 16,
    "integers": [
     "9926175384",
     "1607219349",
     "3561729286",
     "5880295476",
     "4689213120",
     "4467701926",
     "-1297246123",
     "455696204",
     "-632905873",
     "-1745615349",
     "-1114414449"
    ]
   }
  ],
  [
   {
    "exponent": 16,
    "integers": [
     "13454776538",
     "9079826423",
     "9924872687",
     "4191464621",
     "-2466401768",
     "267389186",
     "111164167",
     "-2411770315",
     "-2039090012",
     "-2087664442",
     "186983631",
     "3118794238",
     "1518205081",
     "-1315976765",
     "1622153596",
     "2248576997",
     "971532079",
     "-402537531"
    ]
   }
  ],
  [
   {
    "exponent": 15,
    "integers": [
     "18308332648",
     "23728783563",
     "20400117611",
     "-962549802"
    ]
   },
   {
    "exponent": 15,
    "integers": [
     "-267295754",
     "-2638474085",
     "2063159192",
     "2132795697",
     "-613046022",
     "5627688691"
    ]
   }
  ],
  [
   {
    "exponent": 15,
    "integers": [
     "-2939583020",
     "9861147419",
     "-7124084479",
     "-2422296717"
    ]
   }
  ],
  [
   {
    "exponent": 17,
    "integers": [
     "10396841140"
    ]
   }
  ],
  [
   {
    "exponent": 15,
    "integers": [
     "37951441027",
     "12136408607",
     "10218254620",
     "1526481884",
     "-389734985",
     "-248917005",
     "-1006026369",
     "3897176423",
     "-1834103043",
     "170967516",
     "2055149710"
    ]
   }
  ],
  [
   {
    "exponent": 15,
    "integers": [
     "13735062693",
     "18079495765",
     "15172373312",
     "6220777347"
    ]
   },
   {
    "exponent": 14,
    "integers": [
     "-599635606",
     "-2685032120",
     "-4639884755",
     "3104827540",
     "9003912844",
     "-15897816546"
    ]
   }
  ],
  [
   {
    "exponent": 13,
    "integers": [
     "-9646548850",
     "-8353397840",
     "3845779657",
     "-4471370872"
    ]
   }
  ],
  [
   {
    "exponent": 16,
    "integers": [
     "8100887212"
    ]
   }
  ]
 ],
 "sha256": "15d64d9c9ea9478e4a3d283fde97faba2a636edf7b2bfe0b532651d383edc5a2"
}
');
INSERT INTO "discreet_files" VALUES('d75910d80f82a5bc6cfdaa8d328f3838','certificate.json','{
 "guarantee": {
  "epsilon": 0.5,
  "delta": 1e-07,
  "neighbors": "add-remove",
  "status": "verified",
  "reason": ""
 },
 "method": "DPLinearRegression",
 "unit": "one row is one person",
 "simulation": false,
 "rows": 2000,
 "domain": {
  "columns": {
   "age": {
    "low": 18.0,
    "high": 90.0,
    "unit": "year"
   },
   "sex": {
    "levels": [
     "F",
     "M"
    ]
   },
   "income": {
    "low": 0.0,
    "high": 100000.0,
    "unit": "EUR"
   }
  },
  "intercept": true,
  "missing": "error"
 },
 "declared": null,
 "events": [
  {
   "mechanism": "gaussian",
   "mu": 0.033341333377380974,
   "blocks": [
    {
     "statistic": "counts",
     "rows": [],
     "columns": [
      "income"
     ],
     "sd": 29.992801687961737,
     "layout": "weighted",
     "exact": true
    }
   ]
  },
  {
   "mechanism": "gaussian",
   "mu": 0.033341333377380974,
   "blocks": [
    {
     "statistic": "counts",
     "rows": [],
     "columns": [
      "income"
     ],
     "sd": 29.992801687961737,
     "layout": "weighted",
     "exact": true,
     "span": [
      -1.0,
      1.0
     ]
    }
   ]
  },
  {
   "mechanism": "gaussian",
   "mu": 0.017436381081640244,
   "blocks": [
    {
     "statistic": "sums",
     "rows": [
      "age",
      "sex[F]",
      "sex[M]"
     ],
     "columns": [],
     "sd": 114.70270067140986,
     "layout": "weighted",
     "exact": true
    },
    {
     "statistic": "diagonal",
     "rows": [
      "age",
      "sex[F]",
      "sex[M]"
     ],
     "columns": [],
     "sd": 114.70270067140986,
     "layout": "weighted",
     "exact": true
    }
   ]
  },
  {
   "mechanism": "gaussian, private coordinates",
   "mu": 0.02251027118244084,
   "coordinates": {
    "design": [
     "(intercept)",
     "age",
     "sex[F]",
     "sex[M]"
    ],
    "outcomes": [
     "income"
    ],
    "P": {
     "integers": [
      [
       2147483648,
       0,
       0,
       0
      ],
      [
       0,
       4133531335,
       0,
       0
      ],
      [
       -972581181,
       0,
       1792783095,
       0
      ],
      [
       -987554415,
       0,
       0,
       1909755011
      ]
     ],
     "exponents": [
      31,
      31,
      30,
      30
     ]
    },
    "theta": {
     "integers": [
      [
       -240727919,
       0,
       0,
       0
      ]
     ],
     "exponents": [
      32
     ]
    },
    "radius": 0.5,
    "widths": [
     [
      0.009317770102045467,
      0.013510766647965928,
      0.019590611639550594,
      0.02840638687734836,
      0.04118926097215512,
      0.05972442840962492,
      0.08660042119395614,
      0.1255706107312364,
      0.18207738556029276,
      0.2640122090624245
     ]
    ]
   },
   "blocks": [
    {
     "statistic": "counts",
     "columns": [
      "income"
     ],
     "sd": 140.4815443820659
    },
    {
     "statistic": "gram",
     "columns": [],
     "sd": 75.09097370680676
    },
    {
     "statistic": "cross",
     "columns": [
      "income"
     ],
     "sd": 62.82543630899142
    },
    {
     "statistic": "squares",
     "columns": [
      "income"
     ],
     "sd": 198.67090532823548
    }
   ],
   "chosen": [
    6
   ]
  },
  {
   "mechanism": "gaussian, private coordinates",
   "mu": 0.03487276216328589,
   "coordinates": {
    "design": [
     "(intercept)",
     "age",
     "sex[F]",
     "sex[M]"
    ],
    "outcomes": [
     "income"
    ],
    "P": {
     "integers": [
      [
       2147483648,
       0,
       0,
       0
      ],
      [
       5797193,
       2282363622,
       0,
       0
      ],
      [
       -1169547364,
       112811125,
       2263966501,
       0
      ],
      [
       1342042256,
       29561418,
       -1256652506,
       -1332073220
      ]
     ],
     "exponents": [
      31,
      30,
      30,
      28
     ]
    },
    "theta": {
     "integers": [
      [
       -392879108,
       1505388699,
       -60700495,
       155084028
      ]
     ],
     "exponents": [
      32
     ]
    },
    "radius": 0.4242731711421436,
    "widths": [
     [
      0.009317770102045467,
      0.013510766647965928,
      0.019590611639550594,
      0.02840638687734836,
      0.04118926097215512,
      0.05972442840962492,
      0.08660042119395614,
      0.1255706107312364,
      0.18207738556029276,
      0.2640122090624245
     ]
    ],
    "lengths": [
     1.6970926845685743,
     2.018194695308017,
     2.400051491121043,
     2.854158309614034,
     3.3941853691371486,
     4.036389390616034,
     4.800102982242086,
     5.708316619228068,
     6.788370738274297,
     8.072778781232069,
     9.600205964484172,
     11.416633238456136,
     13.576741476548595,
     16.145557562464138,
     19.200411928968343,
     22.83326647691227,
     27.15348295309719
    ]
   },
   "blocks": [
    {
     "statistic": "counts",
     "columns": [
      "income"
     ],
     "sd": 95.58558389282672
    },
    {
     "statistic": "lengths",
     "columns": [],
     "sd": 90.68044697353092
    },
    {
     "statistic": "gram",
     "columns": [],
     "sd": 51.09293607511286
    },
    {
     "statistic": "cross",
     "columns": [
      "income"
     ],
     "sd": 42.74729495131587
    },
    {
     "statistic": "squares",
     "columns": [
      "income"
     ],
     "sd": 135.1784291085868
    }
   ],
   "chosen": [
    3
   ]
  },
  {
   "mechanism": "gaussian, private coordinates",
   "mu": 0.09004108472979684,
   "coordinates": {
    "design": [
     "(intercept)",
     "age",
     "sex[F]",
     "sex[M]"
    ],
    "outcomes": [
     "income"
    ],
    "P": {
     "integers": [
      [
       2147483648,
       0,
       0,
       0
      ],
      [
       -37254614,
       -3959702232,
       0,
       0
      ],
      [
       942034962,
       29966745,
       -2098793075,
       0
      ],
      [
       -1404040076,
       -46360718,
       1427513570,
       1359551206
      ]
     ],
     "exponents": [
      31,
      31,
      30,
      26
     ]
    },
    "theta": {
     "integers": [
      [
       -282989755,
       878631281,
       -18471438,
       201795583
      ]
     ],
     "exponents": [
      31
     ]
    },
    "radius": 2.0294593915827703,
    "widths": [
     [
      0.08838834764831845,
      0.125,
      0.1767766952966369,
      0.25,
      0.3535533905932738,
      0.5,
      0.7071067811865476,
      1.0,
      1.4142135623730951,
      2.0
     ]
    ]
   },
   "blocks": [
    {
     "statistic": "counts",
     "columns": [
      "income"
     ],
     "sd": 49.6677263320404
    },
    {
     "statistic": "gram",
     "columns": [],
     "sd": 32.06056293922205
    },
    {
     "statistic": "cross",
     "columns": [
      "income"
     ],
     "sd": 12.416967108136317
    },
    {
     "statistic": "squares",
     "columns": [
      "income"
     ],
     "sd": 64.12075897599335
    }
   ],
   "chosen": [
    2
   ]
  }
 ],
 "software": "discreet 0.2.0",
 "ledger": [
  {
   "ledger": "272620ec57e04455926bcddfc50d2185",
   "account": "town/people",
   "entry": 4,
   "hash": "1b537572a666ce6db7531112a953255d6b00c5c1b90ba841d5d2c2deef898235"
  }
 ]
}');
CREATE TABLE discreet_jobs (
	number INTEGER NOT NULL, 
	id VARCHAR NOT NULL, 
	person VARCHAR NOT NULL, 
	"table" VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	body TEXT NOT NULL, 
	original TEXT NOT NULL, 
	price TEXT, 
	reference VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	created FLOAT NOT NULL, 
	started FLOAT, 
	finished FLOAT, 
	shown FLOAT, 
	worker VARCHAR, 
	lease FLOAT, 
	tries INTEGER NOT NULL, 
	decided_by VARCHAR, 
	answer TEXT, 
	problem TEXT, 
	PRIMARY KEY (number), 
	UNIQUE (person, reference), 
	UNIQUE (id)
);
INSERT INTO "discreet_jobs" VALUES(1,'d75910d80f82a5bc6cfdaa8d328f3838','ada','people','fit','{"epsilon": 0.5, "formula": "income ~ age + sex", "kind": "fit", "method": "DPLinearRegression", "purpose": "a test", "reuse": true, "table": "people"}','{"epsilon": 0.5, "formula": "income ~ age + sex", "kind": "fit", "method": "DPLinearRegression", "purpose": "a test", "reuse": true, "table": "people"}','{"epsilon": 0.5, "delta": 1e-07, "mu": 0.11116445113857026, "people": 1, "person": null}','hT1BwNbDnX6cF7WRJdDOvi1SbNIQ2PlW','done',1.795036990338228941e+09,1.79503699034848260883e+09,1.79503699116665577885e+09,1.7950369919484825134e+09,'test',1.79503705034848260878e+09,1,NULL,NULL,NULL);
INSERT INTO "discreet_jobs" VALUES(2,'389728815fc76f7730d0c22766c81166','bob','people','plan','{"epsilon": 0.5, "formula": "income ~ sex", "kind": "plan", "method": "DPLinearRegression", "r_squared": 0.5, "table": "people"}','{"epsilon": 0.5, "formula": "income ~ sex", "kind": "plan", "method": "DPLinearRegression", "r_squared": 0.5, "table": "people"}',NULL,'XVV2bl8ujq9xOF2nBivnqn1Qv-0pvUPP','done',1.7950369919665660858e+09,1.79503699196891307833e+09,1.79503699216111445424e+09,NULL,'test',1.79503705196891307827e+09,1,NULL,NULL,NULL);
INSERT INTO "discreet_jobs" VALUES(3,'9725330193407d4a3a76d4cf05bc4e55','ada','asked','fit','{"epsilon": 0.5, "formula": "income ~ region", "kind": "fit", "method": "DPLinearRegression", "purpose": "", "reuse": true, "table": "asked"}','{"epsilon": 0.5, "formula": "income ~ region", "kind": "fit", "method": "DPLinearRegression", "purpose": "", "reuse": true, "table": "asked"}','{"epsilon": 0.5, "delta": 1e-07, "mu": 0.11116445113857026, "people": 1, "person": null}','STlM4zwZFjTW3Of_B-khRsKVmD79PSjL','waiting',1.7950369921769843101e+09,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL);
CREATE TABLE discreet_keys (
	id VARCHAR NOT NULL, 
	person VARCHAR NOT NULL, 
	hash VARCHAR NOT NULL, 
	since FLOAT NOT NULL, 
	revoked FLOAT, 
	PRIMARY KEY (id)
);
INSERT INTO "discreet_keys" VALUES('190787ba','ada','82ee5a418762cc9754042c70b29b3ce21f8e0b00988ea9ca68cead740cf608cb',1795036990.27677,NULL);
INSERT INTO "discreet_keys" VALUES('96668d4a','bob','4a68ad0484a5010f8748be96f6036f4b550a8089e478bed8aaa9b4eb50f45703',1.79503699028211402893e+09,NULL);
INSERT INTO "discreet_keys" VALUES('1a3b8496','carl','ec840352d120120b103e7802017ed9d4ce7b78b2c1954efc46d8509c77a1c93b',1.79503699028306484223e+09,NULL);
CREATE TABLE discreet_people (
	name VARCHAR NOT NULL, 
	role VARCHAR NOT NULL, 
	since FLOAT NOT NULL, 
	revoked FLOAT, 
	PRIMARY KEY (name)
);
INSERT INTO "discreet_people" VALUES('ada','analyst',1.79503699027338528637e+09,NULL);
INSERT INTO "discreet_people" VALUES('bob','analyst',1.79503699028197860718e+09,NULL);
INSERT INTO "discreet_people" VALUES('carl','custodian',1.79503699028295850758e+09,NULL);
CREATE TABLE discreet_sessions (
	hash VARCHAR NOT NULL, 
	person VARCHAR NOT NULL, 
	"key" VARCHAR, 
	form VARCHAR NOT NULL, 
	until FLOAT NOT NULL, 
	PRIMARY KEY (hash)
);
CREATE TABLE discreet_tables (
	name VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	fingerprint VARCHAR, 
	changed FLOAT NOT NULL, 
	problem TEXT, 
	PRIMARY KEY (name)
);
INSERT INTO "discreet_tables" VALUES('people','open','241de38dfc3799a22fccc10e505c5ab969e508465b9000b1a429a80fa45e83eb',1.79503699025691843037e+09,NULL);
INSERT INTO "discreet_tables" VALUES('asked','open','241de38dfc3799a22fccc10e505c5ab969e508465b9000b1a429a80fa45e83eb',1.79503699026343631738e+09,NULL);
INSERT INTO "discreet_tables" VALUES('small','open','241de38dfc3799a22fccc10e505c5ab969e508465b9000b1a429a80fa45e83eb',1.7950369902705094814e+09,NULL);
CREATE INDEX ix_discreet_keys_person ON discreet_keys (person);
CREATE INDEX ix_discreet_sessions_person ON discreet_sessions (person);
CREATE INDEX discreet_jobs_table ON discreet_jobs ("table", kind, state);
CREATE INDEX discreet_jobs_person ON discreet_jobs (person, number);
CREATE INDEX discreet_jobs_state ON discreet_jobs (state, number);
COMMIT;
