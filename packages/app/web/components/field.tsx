/** One field of a form: its label, its input by the kind of its value, its hint and its fault. */
import { useId } from 'react';
import type { DeclaredField } from '../../src/wire/declared.ts';
import { t } from '../lib/language.ts';
import { hasThreeStates, type Related, type Typed } from '../lib/values.ts';
import { RelationPicker } from './relation-picker.tsx';

export interface FieldProps {
  readonly field: DeclaredField;
  readonly value: Typed;
  readonly fault: string | undefined;
  readonly onChange: (value: Typed) => void;
}

/** The attributes that join an input to its label, hint and fault. */
export interface Wiring {
  readonly id: string;
  readonly required: boolean;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

export function Field({ field, value, fault, onChange }: FieldProps) {
  const id = useId();
  const describedBy = [field.hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  const wiring: Wiring = {
    id,
    required: field.required,
    'aria-describedby': describedBy || undefined,
    'aria-invalid': fault === undefined ? undefined : true,
  };
  const notes = (
    <>
      {field.hint && (
        <p className="hint" id={`${id}-hint`}>
          {field.hint}
        </p>
      )}
      {fault !== undefined && (
        <p className="fault" id={`${id}-fault`}>
          {field.label} {fault}
        </p>
      )}
    </>
  );
  if (typeof value === 'boolean')
    return (
      <div className="field">
        <label className="check">
          <input
            {...wiring}
            // A box that is not ticked is an answer, too.
            required={false}
            type="checkbox"
            checked={value}
            onChange={(event) => onChange(event.target.checked)}
          />
          {field.label}
        </label>
        {notes}
      </div>
    );
  if (field.kind === 'choices')
    return (
      <fieldset className="field" aria-describedby={wiring['aria-describedby']}>
        <legend>
          {field.label}
          <Need field={field} />
        </legend>
        {field.options?.map((option) => (
          <label className="check" key={option.value}>
            <input
              type="checkbox"
              checked={(value as readonly string[]).includes(option.value)}
              onChange={(event) => {
                const others = (value as readonly string[]).filter((each) => each !== option.value);
                onChange(event.target.checked ? [...others, option.value] : others);
              }}
            />
            {option.label}
          </label>
        ))}
        {notes}
      </fieldset>
    );
  return (
    <div className={`field ${SHORT.has(field.kind) ? 'short' : ''}`}>
      <label htmlFor={id}>
        {field.label}
        <Need field={field} />
      </label>
      <Input field={field} value={value} wiring={wiring} onChange={onChange} />
      {notes}
    </div>
  );
}

/** Kinds whose input needs no more than a part of the width. */
const SHORT: ReadonlySet<string> = new Set([
  'choice',
  'integer',
  'number',
  'money',
  'minutes',
  'day',
  'time',
  'moment',
]);

/** In a form most fields are needed or most are not; the word is on those that can be left out. */
function Need({ field }: { readonly field: DeclaredField }) {
  const isOptional = !field.required && field.default === undefined;
  return isOptional ? <span className="need"> ({t.optional})</span> : null;
}

interface InputProps {
  readonly field: DeclaredField;
  readonly value: Exclude<Typed, boolean>;
  readonly wiring: Wiring;
  readonly onChange: (value: Typed) => void;
}

function Input({ field, value, wiring, onChange }: InputProps) {
  const text = typeof value === 'string' ? value : '';
  const common = {
    ...wiring,
    name: field.name,
    value: text,
    // The browser's own suggestions would be other records' data.
    autoComplete: 'off',
    ...(field.lengthMax !== undefined && { maxLength: field.lengthMax }),
  };
  const typed = (event: { readonly target: { readonly value: string } }) => onChange(event.target.value);
  switch (field.kind) {
    case 'relation':
      return (
        <RelationPicker
          target={field.target ?? ''}
          label={field.label}
          value={value as Related | null}
          wiring={wiring}
          onChange={onChange}
        />
      );
    case 'choice':
      return (
        <select {...wiring} name={field.name} value={text} onChange={typed}>
          {(!field.required || text === '') && <option value="">{field.required ? t.choose : t.none}</option>}
          {field.options?.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      );
    case 'boolean':
      return (
        <select {...wiring} name={field.name} value={text} onChange={typed}>
          {hasThreeStates(field) && <option value="">{t.none}</option>}
          <option value="true">{t.yes}</option>
          <option value="false">{t.no}</option>
        </select>
      );
    case 'text':
    case 'json':
      return <textarea {...common} rows={field.kind === 'json' ? 6 : 4} onChange={typed} />;
    case 'money':
      return (
        <span className="with-unit">
          <input {...common} inputMode="decimal" onChange={typed} />
          <span className="unit">{field.currency}</span>
        </span>
      );
    case 'minutes':
      return <input {...common} placeholder="1:30" onChange={typed} />;
    case 'integer':
    case 'number':
      return (
        <input {...common} inputMode={field.kind === 'integer' ? 'numeric' : 'decimal'} onChange={typed} />
      );
    default:
      return <input {...common} type={INPUT_TYPES[field.kind] ?? 'text'} onChange={typed} />;
  }
}

/** The types of inputs that are not plain texts. */
export const INPUT_TYPES: Partial<Record<DeclaredField['kind'], string>> = {
  day: 'date',
  time: 'time',
  moment: 'datetime-local',
  email: 'email',
  url: 'url',
};
