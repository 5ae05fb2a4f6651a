/** The documents that travel with `@freehold/app`, for builders and their coding agents, with `llms.txt` as their index. */
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../run.ts';

/** In the order in which a reader needs them. */
const PAGES = [
  'application.md',
  'records.md',
  'long-work.md',
  'mistakes/*.md',
  'guide/*.md',
  'testing.md',
  'dev.md',
  'deploying.md',
  'models.md',
  'agents.md',
  'identity/sign-in.md',
  'packages.md',
  'glossary.md',
];

/** Lays them out in a folder. */
export function layOutDocuments(folder: string): void {
  const docs = join(root, 'docs');
  const pages = PAGES.flatMap((pattern) => globSync(pattern, { cwd: docs }).sort());
  for (const page of pages) {
    mkdirSync(dirname(join(folder, page)), { recursive: true });
    cpSync(join(docs, page), join(folder, page));
  }
  for (const picture of globSync('images/records-*.png', { cwd: docs })) {
    mkdirSync(join(folder, 'images'), { recursive: true });
    cpSync(join(docs, picture), join(folder, picture));
  }
  const lines = pages.map((page) => {
    const { title, first } = opening(readFileSync(join(docs, page), 'utf8'));
    return `- [${title}](${page}): ${first}`;
  });
  writeFileSync(
    join(folder, 'llms.txt'),
    `# Freehold\n\n> A platform for multi-tenant business applications. A vertical is a declaration (\`defineApp\`); sign-in, team,\n> permissions, history, files, pages, OpenAPI and MCP follow from it.\n\n## Documents\n\n${lines.join('\n')}\n`,
  );
}

/** The heading of a page, and its first sentence on one line. */
function opening(text: string): { readonly title: string; readonly first: string } {
  const title = /^# (.+)$/m.exec(text)?.[1] ?? '';
  const paragraph = /^# .+\n+((?:(?!#|\||>|- |```).+\n)+)/m.exec(text)?.[1] ?? '';
  const plain = paragraph.replaceAll('\n', ' ').replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1');
  return { title, first: /^.*?[.:](?= |$)/.exec(plain)?.[0] ?? title };
}
