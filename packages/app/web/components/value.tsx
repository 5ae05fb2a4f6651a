/** A value of a record as it is read: related records are links, choices are labels. */
import type { DeclaredField } from '../../src/wire/declared.ts';
import { kindOf, useApp } from '../lib/app-context.tsx';
import { spoken, t } from '../lib/language.ts';
import { type Related, shownOf } from '../lib/values.ts';
import { Link } from './basics.tsx';

export function Value({ field, value }: { readonly field: DeclaredField; readonly value: unknown }) {
  const { declaration } = useApp();
  if (value === null || value === undefined || value === '') return <span className="soft">–</span>;
  const text = shownOf(field, value, spoken);
  switch (field.kind) {
    case 'relation': {
      const { id } = value as Related;
      const kind = kindOf(declaration, field.target ?? '');
      return id !== null && kind ? (
        <Link to={`${kind.page}/${id}`}>{text || t.unnamed}</Link>
      ) : (
        <span className="soft">{text}</span>
      );
    }
    case 'choice':
      return <span className="tag">{text}</span>;
    case 'email':
      return <a href={`mailto:${text}`}>{text}</a>;
    case 'url':
      // Only addresses of the web: a text of another scheme could be a script.
      return /^https?:/i.test(text) ? (
        <a href={text} rel="noopener noreferrer" target="_blank">
          {text}
        </a>
      ) : (
        text
      );
    case 'text':
      return <span className="long">{text}</span>;
    default:
      return <>{text}</>;
  }
}

/** Kinds whose values stand right-aligned in a column. */
export function isNumeric({ kind }: DeclaredField): boolean {
  return kind === 'money' || kind === 'integer' || kind === 'number' || kind === 'minutes';
}
