"""The one catalogue of destructive shell commands (R369): the prompt lists them, the gate holds them back.

Decides which commands count as hard to undo. Both layers derive from this table: the prompt layer renders `warning`, the
enforcement layer matches `words`, `flags` and `subjects`. Never decides a verdict and never parses a shell line.
"""

from __future__ import annotations

from msgspec import Struct


class DestructivePattern(Struct, frozen=True, kw_only=True):
    """One row: a simple command whose effect cannot be taken back.

    `words` are the command word and the subcommands that follow it. `flags`: one of them must be there (short letters
    count inside a cluster); empty means that no flag is needed. `subjects`: one operand must begin with one of them; empty
    means any. `always` rows need a person in every mode; the others are only kept from rules that hold a wildcard and from
    modes that act on their own.
    """

    name: str
    words: tuple[str, ...]
    flags: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    always: bool = False
    warning: str


DESTRUCTIVE_PATTERNS: tuple[DestructivePattern, ...] = (
    DestructivePattern(
        name="delete-tree",
        words=("rm",),
        flags=("-r", "-R", "--recursive"),
        warning="deleting directory trees (`rm -r`)",
    ),
    DestructivePattern(
        name="find-delete", words=("find",), flags=("-delete",), warning="deleting what a search finds (`find -delete`)"
    ),
    DestructivePattern(name="shred", words=("shred",), warning="overwriting files beyond recovery (`shred`)"),
    DestructivePattern(
        name="force-push",
        words=("git", "push"),
        flags=("-f", "--force", "--force-with-lease", "--force-if-includes", "--mirror", "--prune"),
        warning="rewriting published history (`git push --force`)",
    ),
    DestructivePattern(
        name="force-push-refspec",
        words=("git", "push"),
        subjects=("+", ":"),
        warning="rewriting or deleting a published branch by a refspec (`git push origin +main`)",
    ),
    DestructivePattern(
        name="delete-remote-branch",
        words=("git", "push"),
        flags=("-d", "--delete"),
        warning="deleting a published branch (`git push --delete`)",
    ),
    DestructivePattern(
        name="hard-reset",
        words=("git", "reset"),
        flags=("--hard", "--merge", "--keep"),
        warning="throwing away local changes (`git reset --hard`)",
    ),
    DestructivePattern(
        name="discard-checkout",
        words=("git", "checkout"),
        flags=("--", "-f", "--force"),
        warning="throwing away changes of files (`git checkout -- FILE`, `git checkout --force`)",
    ),
    DestructivePattern(
        name="discard-checkout-all",
        words=("git", "checkout"),
        subjects=(".", "*", ":"),
        warning="throwing away all local changes (`git checkout .`)",
    ),
    DestructivePattern(
        name="restore", words=("git", "restore"), warning="throwing away changes of files (`git restore`)"
    ),
    DestructivePattern(
        name="clean",
        words=("git", "clean"),
        flags=("-f", "--force"),
        warning="deleting untracked files (`git clean -f`)",
    ),
    DestructivePattern(
        name="delete-branch",
        words=("git", "branch"),
        flags=("-D", "-d", "--delete", "-f", "--force"),
        warning="deleting or moving a branch (`git branch -D`)",
    ),
    DestructivePattern(
        name="drop-stash",
        words=("git", "stash", "drop"),
        warning="dropping stashed changes (`git stash drop`)",
    ),
    DestructivePattern(
        name="clear-stash", words=("git", "stash", "clear"), warning="dropping all stashed changes (`git stash clear`)"
    ),
    DestructivePattern(
        name="amend",
        words=("git", "commit"),
        flags=("--amend",),
        warning="replacing the last commit (`git commit --amend`)",
    ),
    DestructivePattern(
        name="skip-hooks",
        words=("git", "commit"),
        flags=("-n", "--no-verify", "--no-gpg-sign"),
        warning="going around commit hooks or signing (`git commit --no-verify`)",
    ),
    DestructivePattern(
        name="rewrite-history",
        words=("git", "filter-branch"),
        warning="rewriting the whole history (`git filter-branch`)",
    ),
    DestructivePattern(
        name="expire-reflog",
        words=("git", "reflog", "expire"),
        warning="forgetting what can still be recovered (`git reflog expire`)",
    ),
    DestructivePattern(
        name="make-filesystem", words=("mkfs",), always=True, warning="formatting a file system (`mkfs`)"
    ),
    DestructivePattern(
        name="raw-device",
        words=("dd",),
        subjects=("of=/dev/",),
        always=True,
        warning="writing to a device (`dd of=/dev/...`)",
    ),
    DestructivePattern(
        name="wipe-signatures", words=("wipefs",), always=True, warning="erasing disk signatures (`wipefs`)"
    ),
    DestructivePattern(
        name="partition", words=("fdisk",), always=True, warning="changing a partition table (`fdisk`, `parted`)"
    ),
    DestructivePattern(
        name="partition-parted",
        words=("parted",),
        always=True,
        warning="changing a partition table with `parted`",
    ),
    DestructivePattern(name="power-off", words=("shutdown",), always=True, warning="stopping the machine (`shutdown`)"),
    DestructivePattern(name="reboot", words=("reboot",), always=True, warning="restarting the machine (`reboot`)"),
    DestructivePattern(
        name="open-permissions",
        words=("chmod",),
        flags=("-R", "--recursive"),
        warning="changing permissions of a whole tree (`chmod -R`)",
    ),
    DestructivePattern(
        name="change-owner",
        words=("chown",),
        flags=("-R", "--recursive"),
        warning="changing the owner of a whole tree (`chown -R`)",
    ),
    DestructivePattern(name="kill-all", words=("killall",), warning="ending processes by name (`killall`, `pkill`)"),
    DestructivePattern(name="pkill", words=("pkill",), warning="ending processes by pattern with `pkill`"),
    DestructivePattern(
        name="docker-prune",
        words=("docker", "system", "prune"),
        warning="deleting containers, images and volumes (`docker system prune`)",
    ),
    DestructivePattern(name="drop-database", words=("dropdb",), warning="dropping a database (`dropdb`)"),
    DestructivePattern(
        name="terraform-destroy",
        words=("terraform", "destroy"),
        warning="destroying infrastructure (`terraform destroy`)",
    ),
    DestructivePattern(
        name="kubectl-delete", words=("kubectl", "delete"), warning="deleting cluster objects (`kubectl delete`)"
    ),
)
