/** A filter of a list: the value that a field must have, or any. */
import { useState } from 'react';
import type { DeclaredField } from '../../src/wire/declared.ts';
import { spoken, t } from '../lib/language.ts';
import { parseTyped, typedOf } from '../lib/values.ts';
import { INPUT_TYPES } from './field.tsx';
import { RelationPicker } from './relation-picker.tsx';

export function FilterField({
  field,
  value,
  onChange,
}: {
  readonly field: DeclaredField;
  /** As the address has it; empty for any. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const id = `filter-${field.name}`;
  if (field.kind === 'relation')
    return (
      <div className="inline-field">
        <label htmlFor={id}>{field.label}</label>
        <RelationPicker
          target={field.target ?? ''}
          label={field.label}
          value={value === '' ? null : { id: value, name: null }}
          wiring={{ id, required: false, 'aria-describedby': undefined, 'aria-invalid': undefined }}
          placeholder={t.any}
          onChange={(chosen) => onChange(chosen?.id ?? '')}
        />
      </div>
    );
  const options =
    field.kind === 'boolean'
      ? [
          { value: 'true', label: t.yes },
          { value: 'false', label: t.no },
        ]
      : field.options;
  return (
    <div className="inline-field">
      <label htmlFor={id}>{field.label}</label>
      {options ? (
        <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
          <option value="">{t.any}</option>
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      ) : (
        <TypedFilter key={value} {...{ id, field, value, onChange }} />
      )}
    </div>
  );
}

/** A filter that is typed: it counts when the reader leaves the field, or by Enter. */
function TypedFilter({
  id,
  field,
  value,
  onChange,
}: {
  readonly id: string;
  readonly field: DeclaredField;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const stored = isNumber(field) && value !== '' ? Number(value) : value || null;
  const [text, setText] = useState(String(typedOf(field, stored, spoken)));
  const [isWrong, setWrong] = useState(false);
  const apply = () => {
    const parsed = parseTyped({ ...field, required: false }, text, spoken);
    setWrong(parsed.fault !== undefined);
    const next = parsed.value === undefined ? '' : String(parsed.value);
    if (parsed.fault === undefined && next !== value) onChange(next);
  };
  return (
    <input
      id={id}
      type={INPUT_TYPES[field.kind] ?? 'text'}
      value={text}
      autoComplete="off"
      aria-invalid={isWrong || undefined}
      onChange={(event) => setText(event.target.value)}
      onBlur={apply}
      onKeyDown={(event) => event.key === 'Enter' && apply()}
    />
  );
}

function isNumber({ kind }: DeclaredField): boolean {
  return kind === 'integer' || kind === 'number' || kind === 'money' || kind === 'minutes';
}
