/** Fieldwork in a workerd process of its own, with the checked-in configuration, behind a router. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { bundleFieldwork } from '../../examples/fieldwork/worker/bundle.ts';
import { startWorkerd } from '../support/workerd-process.ts';
import { startBucket } from './bucket.ts';
import { makeWebFiles } from './pages.ts';
import type { Place, PlaceOptions } from './place.ts';
import { makeNodeSigner, type NodeSigner, startRouter } from './router.ts';

const config = readFileSync(
  fileURLToPath(import.meta.resolve('../../examples/fieldwork/worker/fieldwork.capnp')),
  'utf8',
);

/** The worker as it is shipped, without pages. */
export const fieldworkInWorkerd = {
  config,
  bundle: (outfile: string) => bundleFieldwork(outfile, makeWebFiles({})),
};

export interface PlaceInWorkerd extends Place {
  /** The router's signer. */
  readonly signer: NodeSigner;
  /** The port of the worker itself, past the router. */
  readonly workerPort: number;
  /** Queries the files of the scopes, which wakes none of them. */
  readScopes(sql: string, ...params: readonly string[]): unknown[];
}

export async function openInWorkerd(options: PlaceOptions): Promise<PlaceInWorkerd> {
  await using opened = new AsyncDisposableStack();
  const bucket = await startBucket();
  opened.defer(() => bucket.close());
  const signer = await makeNodeSigner();
  const workerd = await startWorkerd({
    config,
    bundle: (outfile) => bundleFieldwork(outfile, makeWebFiles(options.pages)),
    env: {
      PLATFORM_SECRET: options.platformSecret,
      SEAL_KEY: options.sealKey,
      NODE_KEYS: JSON.stringify(signer.keys),
      OWN_ISSUER: options.issuerUrl,
      S3_ENDPOINT: bucket.url,
      S3_BUCKET: 'attachments',
      S3_ACCESS_KEY_ID: 'fieldwork',
      S3_SECRET_ACCESS_KEY: 'the secret key of the bucket',
    },
  });
  opened.defer(() => workerd.close());
  const router = await startRouter(signer, workerd.port);
  opened.defer(() => router.close());
  const open = opened.move();
  let before = '';
  return {
    signer,
    port: router.port,
    workerPort: workerd.port,
    readScopes: (sql, ...params) => readCopies(join(workerd.objects, 'fieldwork-scope'), sql, params),
    managementUrl: workerd.origin,
    incidents: () => linesOf(before + workerd.output()),
    cutPower: async () => {
      await workerd.kill();
      before += workerd.output();
      await workerd.start();
    },
    close: () => open.disposeAsync(),
  };
}

/**
 * Reads copies: opening a file that was not closed would disturb its owner. A copy from the middle of a write can be
 * unreadable; then no rows are found.
 */
function readCopies(directory: string, sql: string, params: readonly string[]): unknown[] {
  const copies = mkdtempSync(join(tmpdir(), 'freehold-workerd-copies-'));
  try {
    cpSync(directory, copies, { recursive: true, filter: (path) => !path.endsWith('-shm') });
    const files = readdirSync(copies).filter((name) => /^[0-9a-f]+\.sqlite$/.test(name));
    return files.flatMap((name) => rowsOf(join(copies, name), sql, params));
  } catch {
    return [];
  } finally {
    rmSync(copies, { recursive: true, force: true });
  }
}

function rowsOf(file: string, sql: string, params: readonly string[]): unknown[] {
  const db = new DatabaseSync(file);
  try {
    return db
      .prepare(sql)
      .all(...params)
      .map((row) => ({ ...row }));
  } finally {
    db.close();
  }
}

/** Returns the lines of standard error, without the runtime's own harmless notes. */
function linesOf(output: string): string[] {
  return output.split('\n').filter((line) => line !== '' && !line.includes(' warning: NOSENTRY '));
}
