/** No document of the repository has a dead link, or a command that fetches a program by its name. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const pages = execFileSync('git', ['ls-files', '-z', '*.md'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((page) => page !== '' && existsSync(join(root, page)));

test.each(pages)('%s has no dead link', (page) => {
  const links = [...readFileSync(join(root, page), 'utf8').matchAll(/\]\(([^)\s]+)\)/g)];
  expect(links.map(([, link = '']) => link).filter((link) => !isAlive(page, link))).toEqual([]);
});

test.each(pages)(
  '%s runs programs of the checkout only: their names are not ours in the registry',
  (page) => {
    const lines = readFileSync(join(root, page), 'utf8').split('\n');
    expect(lines.filter((line) => /\bnpx (?!--no-install )\w/.test(line))).toEqual([]);
  },
);

/** Whether a relative link of a page leads to a file that exists, and to a heading in it. Web addresses pass. */
function isAlive(page: string, link: string): boolean {
  if (/^(https?|mailto):/.test(link)) return true;
  const [path = '', anchor] = link.split('#');
  const target = join(root, path === '' ? page : join(dirname(page), path));
  if (!existsSync(target)) return false;
  if (anchor === undefined) return true;
  const headings = readFileSync(target, 'utf8').matchAll(/^#+ (.+)$/gm);
  return [...headings].some(([, heading = '']) => anchorOf(heading) === anchor);
}

/** Returns the anchor of a heading as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}
