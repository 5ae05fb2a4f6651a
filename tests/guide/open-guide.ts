/** The guide with a reader: its chapters, on ports that are free, with a browser and a language model. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { launchBrowser } from '../support/browser.ts';
import { freePorts } from '../support/platform.ts';
import { type ModelServer, startModelServer } from './model-server.ts';
import { readGuide } from './read-guide.ts';
import { makeReader, type Reader, type ReaderOptions } from './reader.ts';

const folder = join(import.meta.dirname, '../../docs/guide');

/** `1-start.md` and so on. */
export const CHAPTERS = globSync('[0-9]*.md', { cwd: folder }).sort();

export function readPage(file: string): string {
  return readFileSync(join(folder, file), 'utf8');
}

export interface Guide extends AsyncDisposable, Pick<Reader, 'faults'> {
  readonly model: ModelServer;
  /** Follows a chapter. @throws Error that begins with the place in the guide that is wrong. */
  follow(chapter: string): Promise<void>;
}

export async function openGuide(options: Omit<ReaderOptions, 'browser' | 'ports'>): Promise<Guide> {
  const model = await startModelServer();
  const [application = 0, issuer = 0, website = 0] = await freePorts(3);
  /** Those of the guide may be taken. */
  const ports: Readonly<Record<string, number>> = {
    8790: application,
    8788: issuer,
    8080: website,
    11434: model.port,
  };
  const here = (markdown: string): string =>
    markdown.replaceAll(/\b(?:8790|8788|8080|11434)\b/g, (port) => String(ports[port]));
  const browser = await launchBrowser();
  const reader = makeReader({ ...options, browser, ports: { application, issuer } });
  return {
    model,
    faults: reader.faults,
    follow: (chapter) => reader.followGuide(readGuide(`docs/guide/${chapter}`, here(readPage(chapter)))),
    [Symbol.asyncDispose]: async () => {
      await reader[Symbol.asyncDispose]();
      await browser.close();
      await model[Symbol.asyncDispose]();
    },
  };
}
