/** Answers the requests of the local data window: one copy, read-only, at an address with a secret. */
import { PlatformError } from '@freehold/contracts';
import { isSame } from '../login/loopback.ts';
import { type CopyRows, quoteName, readCopy, tablesOf } from './copy.ts';
import { pageText, SCRIPT_HASH } from './page.ts';

const ROWS_A_PAGE = 100;
const ROWS_OF_QUERY = 1_000;
const SQL_CHARS_MAX = 8_000;

export interface WindowOptions {
  readonly file: string;
  /** The first segment of every path. A request without it gets 404. */
  readonly secret: string;
  /** The host and port of the window. Another host name is another site's page (DNS rebinding). */
  readonly host: () => string;
}

/** The content of the page. */
export interface View {
  readonly title: string;
  readonly base: string;
  readonly tables: readonly string[];
  readonly table: string | null;
  readonly page: number;
  readonly sql: string;
  readonly rows: CopyRows | null;
  readonly fault: string | null;
}

/** Answers one request. Serve it on 127.0.0.1 only. */
export function makeWindow({ file, secret, host }: WindowOptions): (request: Request) => Promise<Response> {
  return async (request) => {
    const url = new URL(request.url);
    const base = `/${secret}/`;
    if (request.headers.get('host') !== host() || !isSame(url.pathname, base))
      return plain(404, 'There is nothing here.');
    if (request.method !== 'GET') return plain(405, 'This window only reads.');
    const view = await viewOf(file, base, url.searchParams);
    return new Response(pageText(view), { status: view.fault === null ? 200 : 400, headers: HEADERS });
  };
}

async function viewOf(file: string, base: string, query: URLSearchParams): Promise<View> {
  const tables = await tablesOf(file);
  const sql = (query.get('sql') ?? '').trim();
  const named = query.get('table');
  const page = Math.min(Math.max(Math.trunc(Number(query.get('page') ?? '1')) || 1, 1), 1_000_000);
  const table = sql === '' && named !== null && tables.includes(named) ? named : null;
  const view = { title: file, base, tables, table, page, sql, rows: null, fault: null };
  try {
    if (sql.length > SQL_CHARS_MAX)
      throw new PlatformError(
        'validation_failed',
        `The statement is longer than ${SQL_CHARS_MAX} characters.`,
      );
    if (sql !== '')
      return { ...view, rows: await readCopy({ file, sql, params: [], rowsMax: ROWS_OF_QUERY }) };
    if (table === null) return view;
    const rows = await readCopy({
      file,
      sql: `SELECT * FROM ${quoteName(table)} LIMIT -1 OFFSET ?`,
      params: [(page - 1) * ROWS_A_PAGE],
      rowsMax: ROWS_A_PAGE,
    });
    return { ...view, rows };
  } catch (error) {
    if (error instanceof PlatformError) return { ...view, fault: error.message };
    throw error;
  }
}

/** The page is never cached, framed or named as a referrer. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'unsafe-inline'; script-src ${SCRIPT_HASH}; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

function plain(status: number, text: string): Response {
  return new Response(`${text}\n`, {
    status,
    headers: { 'content-type': 'text/plain', 'cache-control': 'no-store' },
  });
}
