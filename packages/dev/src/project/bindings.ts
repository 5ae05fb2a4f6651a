/** `.env`: the settings of the application while it is built, and how language models are reached. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';

/** The bindings of an application by name. Read for each version; none where there is no file. */
export function readBindings(root: string): Readonly<Record<string, string>> {
  const path = join(root, '.env');
  return existsSync(path) ? (parseEnv(readFileSync(path, 'utf8')) as Record<string, string>) : {};
}
