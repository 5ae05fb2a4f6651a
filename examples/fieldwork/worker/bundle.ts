/** Makes the files to start fieldwork's worker from: `node bundle.ts <directory>`. */
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readWebFiles } from '@freehold/app/node';
import { bundleWorker } from '@freehold/app/worker/bundle';

/** Bundles fieldwork with its pages. Default: those that `npm run build` made, if it did. */
export function bundleFieldwork(
  outfile: string,
  webFiles = readWebFiles(join(import.meta.dirname, '../web/dist')),
): Promise<void> {
  return bundleWorker(join(import.meta.dirname, 'main.ts'), outfile, webFiles);
}

const [, script, directory] = process.argv;
if (script === import.meta.filename && directory !== undefined) {
  mkdirSync(directory, { recursive: true });
  await bundleFieldwork(join(directory, 'worker.js'));
  copyFileSync(join(import.meta.dirname, 'fieldwork.capnp'), join(directory, 'fieldwork.capnp'));
}
