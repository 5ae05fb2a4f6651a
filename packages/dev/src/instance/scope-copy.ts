/**
 * A copy of the instance from before a migration. It is there until the migration is done: a start that finds it puts it
 * back, so that a failure and a crash between two migrations both leave the data as it was.
 */
import { constants, cpSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** The folders of scopes. The other units are the platform's own, and no version of an application migrates them. */
const SCOPES = /^scope-/;

export class ScopeCopy {
  readonly #data: string;
  readonly #copy: string;

  /** @param folder that of `freehold dev`. @param dataDirectory the engine's. */
  constructor(folder: string, dataDirectory: string) {
    this.#data = dataDirectory;
    this.#copy = join(folder, 'before-migration');
  }

  /** Copies the scopes, while no engine has them open. */
  take(): void {
    const scopes = scopesIn(this.#data);
    if (scopes.length === 0) return;
    const draft = `${this.#copy}.draft`;
    rmSync(draft, { recursive: true, force: true });
    for (const scope of scopes) copy(join(this.#data, scope), join(draft, scope));
    renameSync(draft, this.#copy);
  }

  /** Puts the copy back, while no engine has the data open. Returns false where there is none. */
  putBack(): boolean {
    if (!existsSync(this.#copy)) return false;
    for (const scope of scopesIn(this.#copy)) {
      rmSync(join(this.#data, scope), { recursive: true, force: true });
      copy(join(this.#copy, scope), join(this.#data, scope));
    }
    this.drop();
    return true;
  }

  /** The version is open: what it migrated stays. */
  drop(): void {
    const old = `${this.#copy}.old`;
    // A half-deleted copy must not be put back, so that it first gets another name.
    if (existsSync(this.#copy)) renameSync(this.#copy, old);
    rmSync(old, { recursive: true, force: true });
  }
}

function scopesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder).filter((name) => SCOPES.test(name)) : [];
}

/** A file system that can shares the bytes until one of both is changed. */
function copy(from: string, to: string): void {
  cpSync(from, to, { recursive: true, mode: constants.COPYFILE_FICLONE });
}
