/** Single pages of an application's own in the place of those of records: `web: { 'item/:id': './web/item.tsx' }`. */
import type { AppDeclaration } from './app.ts';

/** The pages that one's own can replace: the first one, and those of a type of records. */
const PAGE = /^(?:\/|([a-z][a-z0-9-]*)(?:\/(new|:id|:id\/edit))?)$/;

export interface OwnPage {
  /** As it is declared: `item/:id`, or `/` for the first page. */
  readonly key: string;
  /** The type of records; null for the first page. */
  readonly type: string | null;
  /** Relative to the project. */
  readonly file: string;
  /** The beginning of the names of its built files: `page.item.id`. A type has no dot in its name. */
  readonly built: string;
}

/** Returns the pages with their files; those whose key names no page are left out. */
export function ownPagesOf(web: AppDeclaration['web']): OwnPage[] {
  if (typeof web !== 'object') return [];
  return Object.entries(web).flatMap(([key, file]) => {
    const match = PAGE.exec(key);
    if (!match) return [];
    const [, type = null, step = ''] = match;
    const built = type === null ? 'page' : ['page', type, ...step.replace(':', '').split('/')].join('.');
    return [{ key, type, file, built: built.replace(/\.$/, '') }];
  });
}
