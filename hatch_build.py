"""Build hook: compile the kernel if there is a C compiler; without one, install without it.

CANONRY_PURE=1 in the environment skips it.
"""

import os
import shlex
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface[Any]):
    """Compiles the kernel into a wheel, or into the checkout of an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the kernel, if possible."""
        if os.environ.get("CANONRY_PURE"):
            return
        package = Path(self.root, "canon", "pipeline")
        name = f"_kernel{sysconfig.get_config_var('EXT_SUFFIX')}"
        editable = version == "editable"
        target = (package if editable else Path(tempfile.mkdtemp())) / name
        linker = shlex.split(sysconfig.get_config_var("LDSHARED") or "")
        command = [*linker, "-O3", "-fPIC", f"-I{sysconfig.get_path('include')}"]
        command += [str(package / "_kernel.c"), "-o", str(target)]
        try:
            subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - Python's own compiler
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"no compiled kernel, so canonry will be slower: {error}")
            return
        if not editable:
            build_data["force_include"][str(target)] = f"canonry/canon/pipeline/{name}"
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
