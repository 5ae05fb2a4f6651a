/** Plans the files of a new project: those of `template/`, with the project's own name and title. */
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { DevError } from '../lib/dev-error.ts';
import { fromTarballs, type Tarballs } from './tarballs.ts';

/** The templates are working projects of this name and title. Both words are replaced wherever they stand. */
const TEMPLATES = fileURLToPath(new URL('../../template', import.meta.url));
const TEMPLATE_NAME = 'acme-notes';
const TEMPLATE_TITLE = 'Acme Notes';

/**
 * `empty` is a feature without pages of its own. The others lie over it, so that their files replace its files; `records` has
 * all of its source.
 */
export const TEMPLATE_NAMES = ['empty', 'react', 'records'] as const;
export type TemplateName = (typeof TEMPLATE_NAMES)[number];

/** npm would obey a file of this name in a package, so the template has another. */
const RENAMED: Readonly<Record<string, string>> = { gitignore: '.gitignore' };

const dependencies = z.record(z.string(), z.string());
const packageJson = z.object({
  description: z.string(),
  dependencies,
  devDependencies: dependencies,
  /** Node.js itself, for each system. */
  optionalDependencies: dependencies,
});

export interface Project {
  readonly name: string;
  readonly title: string;
  readonly template: TemplateName;
  /** The packages to install, or null for the published ones. */
  readonly tarballs: Tarballs | null;
}

/**
 * Returns the files of a project by path, with `/`.
 * @throws DevError `validation_failed` for a name that one of its dependencies has, and for a package that is not
 * among the tarballs.
 */
export function planProject(project: Project): ReadonlyMap<string, string> {
  const layers = project.template === 'empty' ? ['empty'] : ['empty', project.template];
  const texts = new Map<string, string>();
  for (const layer of layers)
    for (const file of filesOf(layer)) {
      if (layer !== project.template && project.template === 'records' && file.startsWith('src/')) continue;
      const text = readFileSync(join(TEMPLATES, layer, file), 'utf8');
      const below = texts.get(file);
      texts.set(file, file === 'package.json' && below !== undefined ? mergedJson(below, text) : text);
    }
  return new Map(
    [...texts].sort().map(([file, text]) => {
      const own = file === 'package.json' ? planPackageJson(text, project) : substitute(file, text, project);
      return [RENAMED[file] ?? file, own];
    }),
  );
}

function filesOf(layer: string, prefix = ''): string[] {
  return readdirSync(join(TEMPLATES, layer, prefix), { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules' && !name.startsWith('.'))
    .flatMap((entry) => {
      const path = `${prefix}${entry.name}`;
      return entry.isDirectory() ? filesOf(layer, `${path}/`) : [path];
    });
}

/** The fields of one package.json over those of another; tables are merged by key. */
function mergedJson(below: string, above: string): string {
  const merged: Record<string, unknown> = JSON.parse(below);
  for (const [field, value] of Object.entries(JSON.parse(above) as Record<string, unknown>)) {
    const known = merged[field];
    const isTable = typeof known === 'object' && typeof value === 'object';
    merged[field] = isTable ? { ...known, ...value } : value;
  }
  return JSON.stringify(merged);
}

function planPackageJson(text: string, { name, title, tarballs }: Project): string {
  const whole: Record<string, unknown> = JSON.parse(text);
  const template = packageJson.parse(whole);
  const { dependencies, devDependencies, optionalDependencies } = template;
  if (name in { ...dependencies, ...devDependencies, ...optionalDependencies }) {
    throw new DevError(
      'validation_failed',
      `<name> cannot be used: the project itself depends on the package ${name}.`,
      { reason: 'name_of_a_dependency', errors: [{ path: '<name>', message: 'is that of a dependency' }] },
    );
  }
  const own = {
    ...whole,
    name,
    description: template.description.replace(TEMPLATE_TITLE, () => title),
    ...(tarballs && fromTarballs(tarballs, { dependencies, devDependencies })),
  };
  return `${JSON.stringify(own, null, 2)}\n`;
}

/** One pass, so that a title that contains the template's name stays as it is. */
function substitute(file: string, text: string, { name, title }: Project): string {
  return text.replaceAll(new RegExp(`${TEMPLATE_NAME}|${TEMPLATE_TITLE}`, 'g'), (found) =>
    found === TEMPLATE_NAME ? name : escapeFor(file, title),
  );
}

/** Escapes a title for its file: in TypeScript it stands in single quotes. */
function escapeFor(file: string, title: string): string {
  if (['.ts', '.tsx'].includes(extname(file))) return title.replace(/['\\]/g, '\\$&');
  if (extname(file) === '.html')
    return title.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
  if (extname(file) === '.md') return title.replace(/[\\`*_[\]<>#&|]/g, '\\$&');
  return title;
}
