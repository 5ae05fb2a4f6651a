/** Plans the files of a new project: those of `template/`, with the project's own name and title. */
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PlatformError } from '@freehold/contracts';
import { z } from 'zod';
import type { Checkout } from './checkout.ts';

/** The template is a working project of this name and title. Both words are replaced wherever they stand. */
const TEMPLATE = fileURLToPath(new URL('../../template', import.meta.url));
const TEMPLATE_NAME = 'acme-notes';
const TEMPLATE_TITLE = 'Acme Notes';

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
  /** Null for the published packages. */
  readonly checkout: Checkout | null;
}

/**
 * Returns the files of a project by path, with `/`.
 * @throws PlatformError `validation_failed` for a name that one of its dependencies has, and the errors of the
 * checkout.
 */
export function planProject(project: Project): ReadonlyMap<string, string> {
  return new Map(
    templateFiles().map((file) => {
      const text = readFileSync(join(TEMPLATE, file), 'utf8');
      const own = file === 'package.json' ? planPackageJson(text, project) : substitute(file, text, project);
      return [RENAMED[file] ?? file, own];
    }),
  );
}

function templateFiles(prefix = ''): string[] {
  return readdirSync(join(TEMPLATE, prefix), { withFileTypes: true })
    .filter(({ name }) => name !== 'node_modules' && !name.startsWith('.'))
    .flatMap((entry) => {
      const path = `${prefix}${entry.name}`;
      return entry.isDirectory() ? templateFiles(`${path}/`) : [path];
    })
    .sort();
}

function planPackageJson(text: string, { name, title, checkout }: Project): string {
  const whole: Record<string, unknown> = JSON.parse(text);
  const template = packageJson.parse(whole);
  const { dependencies, devDependencies, optionalDependencies } = template;
  if (name in { ...dependencies, ...devDependencies, ...optionalDependencies }) {
    throw new PlatformError(
      'validation_failed',
      `<name> cannot be used: the project itself depends on the package ${name}.`,
      { reason: 'name_of_a_dependency', errors: [{ path: '<name>', message: 'is that of a dependency' }] },
    );
  }
  const own = {
    ...whole,
    name,
    description: template.description.replace(TEMPLATE_TITLE, () => title),
    ...(checkout === null
      ? {}
      : {
          dependencies: mapKeys(dependencies, checkout.dependency),
          devDependencies: mapKeys(devDependencies, checkout.tool),
        }),
  };
  return `${JSON.stringify(own, null, 2)}\n`;
}

function mapKeys(
  table: Readonly<Record<string, string>>,
  make: (key: string) => string,
): Record<string, string> {
  return Object.fromEntries(Object.keys(table).map((key) => [key, make(key)]));
}

/** One pass, so that a title that contains the template's name stays as it is. */
function substitute(file: string, text: string, { name, title }: Project): string {
  return text.replaceAll(new RegExp(`${TEMPLATE_NAME}|${TEMPLATE_TITLE}`, 'g'), (found) =>
    found === TEMPLATE_NAME ? name : escapeFor(file, title),
  );
}

/** Escapes a title for its file: in TypeScript it stands in single quotes. */
function escapeFor(file: string, title: string): string {
  if (extname(file) === '.ts') return title.replace(/['\\]/g, '\\$&');
  if (extname(file) === '.md') return title.replace(/[\\`*_[\]<>#&|]/g, '\\$&');
  return title;
}
