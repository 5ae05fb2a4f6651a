/** Shared by every part of the pages: the declaration, the surroundings, and the notices of this page. */
import { createContext, useContext } from 'react';
import type { Declaration, DeclaredKind, DeclaredOperation } from '../../src/wire/declared.ts';

/** The data that the server put into the page itself. */
export interface Surroundings {
  readonly business: string;
  readonly person: string | null;
  readonly roles: readonly string[];
  /** The supplied pages that the reader may open. */
  readonly places: readonly { readonly path: string; readonly name: string }[];
  /** Whether the reader may choose the language. */
  readonly languages: boolean;
  /** The application's own pages in the place of ours, by the page: `item/:id`. */
  readonly own: Readonly<Record<string, { readonly script: string; readonly style: string | null }>>;
}

/** A sentence about what was done, which stands as long as the page. */
export interface Notice {
  readonly text: string;
  readonly isBad?: boolean;
  readonly lines?: readonly string[];
  readonly undo?: () => void;
}

export interface AppContext {
  readonly declaration: Declaration;
  readonly around: Surroundings;
  readonly notify: (notice: Notice | null) => void;
}

export const App = createContext<AppContext | null>(null);

export function useApp(): AppContext {
  const app = useContext(App);
  if (!app) throw new Error('outside of the application');
  return app;
}

export function kindOf({ kinds }: Declaration, type: string): DeclaredKind | undefined {
  return kinds.find((each) => each.type === type);
}

/** The operation of a name, if the reader may perform it on some record. */
export function operationOf({ operations }: Declaration, name: string): DeclaredOperation | undefined {
  return operations.find((each) => each.name === name);
}

/** The operations that the pages are made of, after the type of their records. */
const SUPPLIED = /^(?:list|get|create|update|archive|unarchive|export|import(?:-.+)?)$/;

/** The operations about records of a type beside the supplied ones. */
export function ownOperations({ operations }: Declaration, type: string): DeclaredOperation[] {
  return operations.filter(
    ({ name, about }) => about?.type === type && !SUPPLIED.test(name.slice(type.length + 1)),
  );
}

/** The operations about no record, by the type that their name begins with; null for those of no type. */
export function generalOperations(
  { kinds, operations }: Declaration,
  type: string | null,
): DeclaredOperation[] {
  return operations.filter(({ name, about }) => {
    if (about) return false;
    const owner = kinds.find((kind) => name.startsWith(`${kind.type}/`));
    if (!owner) return type === null;
    return owner.type === type && !SUPPLIED.test(name.slice(owner.type.length + 1));
  });
}
