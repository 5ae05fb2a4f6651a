/** Reads a copy on this machine, and never writes it. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type Cell, PlatformError } from '@freehold/contracts';
import { fileFailure } from '../lib/world.ts';

export interface CopyRequest {
  readonly file: string;
  readonly sql: string;
  readonly params: readonly (string | number | null)[];
  readonly rowsMax: number;
}

/** The answer of a statement. Cells are those of the platform's data window. */
export interface CopyRows {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  readonly truncated: boolean;
}
export type CopyAnswer = CopyRows | { readonly refused: string };

/** A statement that takes longer is killed with its process. */
export const STATEMENT_MS = 30_000;
const PROCESS = fileURLToPath(new URL('./copy-process.ts', import.meta.url));

/**
 * Runs one reading statement in a process of its own.
 * @throws PlatformError `validation_failed` with SQLite's message for a refused statement, or one that takes too long.
 */
export async function readCopy(
  request: CopyRequest,
  { signal, timeoutMs = STATEMENT_MS }: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
): Promise<CopyRows> {
  signal?.throwIfAborted();
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', PROCESS], {
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  const kill = () => void child.kill('SIGKILL');
  signal?.addEventListener('abort', kill, { once: true });
  // The process may end before it has read its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(JSON.stringify(request));
  const said = await text(child.stdout);
  signal?.removeEventListener('abort', kill);
  signal?.throwIfAborted();
  if (said === '')
    throw new PlatformError('validation_failed', 'The statement took too long, and was stopped.', {
      reason: 'took_too_long',
    });
  const answer = JSON.parse(said) as CopyAnswer;
  if (!('refused' in answer)) return answer;
  const why = answer.refused === 'not authorized' ? 'it may only read' : answer.refused;
  throw new PlatformError('validation_failed', `The statement cannot be run: ${why}.`, {
    reason: 'bad_statement',
  });
}

/** @throws PlatformError when the file is missing, or is no database. */
export async function requireCopy(file: string): Promise<void> {
  if (!existsSync(file)) throw new PlatformError('not_found', `There is no file at ${file}.`);
  await readCopy({ file, sql: 'SELECT count(*) FROM sqlite_schema', params: [], rowsMax: 1 }).catch(
    (cause: unknown) => {
      throw fileFailure(`${file} is no SQLite database, or cannot be read`, cause);
    },
  );
}

/** Returns tables and views, the application's before the platform's. */
export async function tablesOf(file: string): Promise<readonly string[]> {
  const { rows } = await readCopy({
    file,
    sql: `SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
          ORDER BY name LIKE '\\_spine\\_%' ESCAPE '\\', name`,
    params: [],
    rowsMax: 10_000,
  });
  return rows.map(([name]) => String(name));
}

/** Quotes a name for SQL. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
