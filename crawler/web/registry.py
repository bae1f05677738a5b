"""THE table of panels, in the order of the page's menu; and the table of actions.

CONTRIBUTING says how to add one.
"""

from canonry.crawler.web.panel import Action, Panel
from canonry.crawler.web.views import strip_view

STRIP = Panel(  # on every page
    "strip", "Now", "Speed, queue, errors and the time left.", strip_view.view, every=1.0
)

PANELS: tuple[Panel, ...] = (STRIP,)

ACTIONS: tuple[Action, ...] = ()
