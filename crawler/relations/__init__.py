"""Relations between pages that are not the same: releases, translations, views, and moves.

Nothing is merged, held or stored because of them: they are computed from what a store holds of its
pages, when somebody asks.

1. **Facts.** Of each page a store has the URL, the title, the size, the digest and the number of
   links (`compared_pages.py`); of a page that has gone, those of its last answer.
2. **Pairs.** Two directories are compared page by page. A title says something if few pages of the
   directory have it, so what most titles share is left out. Sizes say something if pages are nearer
   to their partners than to other pages (`pairing.py`).
3. **Directories.** Paths that differ in one segment, as ``/1.9/`` and ``/1.10/``, are releases if
   most of their pages agree; translations or views if their names say so (`directories.py`).
   Versions have an order (`version_order.py`).
4. **Moves.** What has gone and what is new are two directories, too (`moved_pages.py`).
"""
