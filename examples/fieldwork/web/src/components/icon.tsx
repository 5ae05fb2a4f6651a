/** A few line drawings of 20 by 20. They are decoration: a text beside them always has their meaning. */

const PATHS = {
  plus: 'M10 4v12M4 10h12',
  search: 'M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12Zm4.5-1.5L17 17',
  calendar: 'M4 6.5h12v10H4zM4 9.5h12M7 4v3M13 4v3',
  pin: 'M10 17s5-4.6 5-8.5a5 5 0 0 0-10 0C5 12.4 10 17 10 17Zm0-7a1.6 1.6 0 1 0 0-3.2 1.6 1.6 0 0 0 0 3.200Z',
  phone:
    'M5 3.500h3l1.2 3.6-1.7 1.300a9 9 0 0 0 4.1 4.100l1.3-1.7 3.6 1.200v3A1.5 1.5 0 0 1 15 16.5 11.5 11.5 0 0 1 3.5 5 1.5 1.5 0 0 1 5 3.500Z',
  mail: 'M3.5 5.500h13v9h-13zM3.5 6l6.5 5 6.5-5',
  person: 'M10 9.500a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM4 16.500c.6-3 3-4.5 6-4.500s5.4 1.5 6 4.5',
  people:
    'M8 9a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 9Zm-5 7.5c.5-2.8 2.5-4 5-4s4.5 1.2 5 4M13.5 4a2.5 2.5 0 0 1 0 4.8M15 12.8c1.2.6 1.9 1.8 2.2 3.7',
  clipboard: 'M5 4.500h10v12.500H5zM8 3h4v3H8zM7.5 10h5M7.5 13h5',
  receipt: 'M5 3.500h10v13.500l-2.5-1.500L10 17l-2.5-1.500L5 17zM7.5 7.500h5M7.5 10.500h5',
  play: 'M6.5 4.500v11l9-5.500z',
  check: 'm4.5 10.5 4 4 7.5-9',
  cross: 'm5 5 10 10M15 5 5 15',
  pencil: 'm4 16 .8-3.200L13.5 4l2.5 2.5-8.8 8.700zM12 5.5 14.5 8',
  note: 'M4 4h12v9l-3.5 3.500H4zM16 13h-3.500v3.500M7 7.500h6M7 10.500h4',
  flag: 'M5 17V4M5 4.500h9l-2 3 2 3H5',
  arrow: 'M4 10h11M11 5.5 15.5 10 11 14.5',
  link: 'M8.5 11.500a3 3 0 0 0 4.3 0l2.8-2.800a3 3 0 0 0-4.3-4.300l-.9.900M11.5 8.500a3 3 0 0 0-4.3 0l-2.8 2.800a3 3 0 0 0 4.3 4.300l.9-.9',
  shield: 'M10 3 4.5 5v4.500c0 3.5 2.3 6 5.5 7.5 3.2-1.5 5.5-4 5.5-7.500V5zM7.5 7.500l5 5M12.5 7.500l-5 5',
  exit: 'M8 4H4.500v12H8M12.5 6.5 16 10l-3.5 3.500M16 10H8',
  screen: 'M3.500 4.500h13v9h-13zM7.500 16.500h5M10 13.500v3',
  key: 'M7 16a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM9.2 10.8 16 4M13.500 6.500l2 2M11.500 8.500l1.500 1.500',
  clip: 'm15 9-5.600 5.600a3.100 3.100 0 0 1-4.400-4.400l6-6a2.100 2.100 0 0 1 3 3l-5.900 5.900a1 1 0 0 1-1.500-1.500L12 6.300',
  file: 'M6 3h5.500L15 6.500V17H6zM11.500 3v3.500H15',
  save: 'M10 3.500v8.500M6.500 9l3.500 3.500L13.500 9M4 16.500h12',
  bell: 'M5.500 13.500V9a4.500 4.500 0 0 1 9 0v4.500l1 1.500h-11zM8.500 15.500a1.500 1.500 0 0 0 3 0',
  down: 'm5.5 8 4.5 4.500L14.5 8',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The mark of the application. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="9" />
      <path className="mark-lines" d="M9 10.500h14M9 16h8" />
      <path className="mark-check" d="m15.5 21.5 3 3 6-7" />
    </svg>
  );
}
