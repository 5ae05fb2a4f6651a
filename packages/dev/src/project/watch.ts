/** Watches the folder of a project for saves. */
import { watch } from 'node:fs';

/** Editors write a file in several steps, and save several files at once. */
const QUIET_MS = 15;

/** Neither packages, nor what begins with a dot (`.git`, `.freehold`, an editor's own files). */
const IGNORED = /(?:^|[\\/])(?:node_modules|\.[^\\/]+)(?:[\\/]|$)|~$/;

/** Calls `onSave` a moment after the last change, with the time of the first one. Returns the function that stops it. */
export function watchProject(root: string, onSave: (savedAtMs: number) => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let savedAtMs: number | null = null;
  const watcher = watch(root, { recursive: true, ignore: (path: string) => IGNORED.test(path) }, () => {
    savedAtMs ??= Date.now();
    clearTimeout(timer);
    timer = setTimeout(() => {
      const at = savedAtMs ?? Date.now();
      savedAtMs = null;
      onSave(at);
    }, QUIET_MS);
  });
  // A folder that vanishes while it is being looked at; the next change is seen all the same.
  watcher.on('error', () => undefined);
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}
