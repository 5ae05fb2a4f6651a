/** The operator's own way into the control plane: a token in the data directory, and a client that uses it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ControlPlaneClient, makeControlPlaneClient } from '@freehold/control-plane/client';
import type { DirectoryHostAdmin } from '@freehold/directory';
import { writePrivately } from './storage/secrets.ts';

export interface Operator {
  /** The file with the token, readable by its owner only. */
  readonly tokenFile: string;
  readonly client: ControlPlaneClient;
}

export interface OperatorOptions {
  readonly hostAdmin: Pick<DirectoryHostAdmin, 'authenticate' | 'mintServiceToken'>;
  readonly dataDirectory: string;
  readonly apiUrl: string;
  /** The control plane, called in this process. */
  readonly fetch: (request: Request) => Promise<Response>;
}

/** The token of the data directory if it works, a new one otherwise. */
export async function openOperator({
  hostAdmin,
  dataDirectory,
  apiUrl,
  fetch,
}: OperatorOptions): Promise<Operator> {
  const tokenFile = join(dataDirectory, 'service-token');
  const works = existsSync(tokenFile) && (await hostAdmin.authenticate(readToken(tokenFile))) !== null;
  if (!works) {
    const { secret } = await hostAdmin.mintServiceToken({ name: 'local operator' });
    writePrivately(tokenFile, `${secret}\n`);
  }
  return {
    tokenFile,
    client: makeControlPlaneClient({ baseUrl: apiUrl, token: readToken(tokenFile), fetch }),
  };
}

function readToken(path: string): string {
  return readFileSync(path, 'utf8').trim();
}
