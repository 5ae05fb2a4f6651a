/** The process's limit of open files, and its division between databases and connections. */

/** The number of open databases where the limit allows it: each costs its files and its page cache. */
const OPEN_UNITS_MAX = 256;
/** A database holds its file, its log and the log's index. */
const FILES_A_UNIT = 3;
/** For the process itself, its workers, and files that are open for a moment: history, copies, attachments. */
const RESERVED_FILES = 96;
const OPEN_UNITS_MIN = 8;

export interface FileBudget {
  /** The number of files that the process may have open; infinite without a limit. */
  readonly limit: number;
  /** The number of databases that may be open at once. */
  readonly openUnits: number;
  /** The number of connections that leave enough files for the databases; infinite without a limit. */
  readonly connections: number;
}

/** Divides a limit of open files: databases get at most half of what is not reserved, connections get the rest. */
export function fileBudgetOf(limit: number): FileBudget {
  const half = (limit - RESERVED_FILES) / 2;
  const openUnits = Math.max(OPEN_UNITS_MIN, Math.min(OPEN_UNITS_MAX, Math.floor(half / FILES_A_UNIT)));
  const connections = Math.max(OPEN_UNITS_MIN, limit - RESERVED_FILES - openUnits * FILES_A_UNIT);
  return { limit, openUnits, connections };
}

/** Returns the limit of open files at which {@link fileBudgetOf} lets so many databases be open, or the most there are. */
export function limitForUnits(units: number): number {
  return RESERVED_FILES + 2 * FILES_A_UNIT * Math.min(OPEN_UNITS_MAX, units);
}

/** The limit of this process. The report that tells it takes milliseconds, more in a large process. */
let known: number | undefined;

/** Returns the soft limit of open files of this process (`ulimit -n`), as it was when it was first asked for. */
export function openFilesLimit(): number {
  known ??= readLimit();
  return known;
}

function readLimit(): number {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } };
  };
  // Without a limit the report says `unlimited`; on Windows it has none.
  const soft = userLimits?.open_files?.soft;
  return typeof soft === 'number' ? soft : Number.POSITIVE_INFINITY;
}
