/** Records the times of commits a few times a second, for all units with new commits. */
import type { UnitFiles } from '../unit-files.ts';
import type { UnitHistory } from './unit-history.ts';

/** After a kill, the commits of the last moments have estimated times; no longer than this. */
const INTERVAL_MS = 250;

export interface TimesKeeper {
  touch(files: UnitFiles): void;
  close(): void;
}

/** @param historyOf returns the history of a unit, when it is open. */
export function makeTimesKeeper(
  historyOf: (files: UnitFiles) => UnitHistory | null | undefined,
): TimesKeeper {
  const touched = new Map<string, UnitFiles>();
  let timer: NodeJS.Timeout | undefined;

  const noteAll = (): void => {
    timer = undefined;
    const all = [...touched.values()];
    touched.clear();
    for (const files of all) {
      try {
        historyOf(files)?.noteTimes();
      } catch {
        // The commits themselves are in the log; the callers who need the disk meet its failure.
      }
    }
  };

  return {
    touch: (files) => {
      touched.set(files.database, files);
      timer ??= setTimeout(noteAll, INTERVAL_MS).unref();
    },
    close: () => clearTimeout(timer),
  };
}
