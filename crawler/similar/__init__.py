"""Near-duplicate pages: which pages of WARC files have almost the same text, and what differs.

Nothing is learned or held from this: the groups are for people.

1. **Texts.** Of each URL, the latest capture with status 200 and a text body counts. Equal texts
   become one (`page_texts.py`, `visible_text.py`).
2. **Shingles.** A text is the set of its runs of three words (`shingles.py`), as in Broder, "On the
   resemblance and containment of documents", SEQUENCES 1997. Runs end where a paragraph, a cell or
   an item of a list ends.
3. **Frames.** Shingles in most texts of a host, or of a large folder of it, are the frame of a site
   or the template of its pages. They are left out of all texts (`shared_frames.py`). What is left
   is a text's own. Texts with hardly any words of their own are not compared.
4. **Candidates.** MinHash sketches, cut into bands (Broder 1997; Manning, Raghavan and Schütze,
   "Introduction to Information Retrieval", 2008, section 19.6; the bands are those of Leskovec,
   Rajaraman and Ullman, "Mining of Massive Datasets", section 3.4).
5. **Scores.** The resemblance of two texts is computed from all of their own shingles: shared ones
   by all (Jaccard). The containment is the share of the smaller set that is in the other.
6. **Groups.** Each text joins the representative that it resembles most, or becomes one itself, in
   the order of their URLs, the shortest first (`resembling.py`). So each member resembles the
   representative, not only another member, and no group needs all of its pairs.
"""
