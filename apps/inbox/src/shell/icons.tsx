import type { ReactNode } from 'react';

const shapes = {
  logo: <path d="M5 12.6l4.6 4.6L19.5 7.3" strokeWidth="2.8" />,
  sun: (
    <>
      <circle cx="12" cy="12" r="4" />
      <path d="M12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4" />
    </>
  ),
  moon: <path d="M20 14.2A8.2 8.2 0 0 1 9.8 4a8.2 8.2 0 1 0 10.2 10.2z" />,
  system: (
    <>
      <rect x="3" y="4.5" width="18" height="12" rx="2" />
      <path d="M8.5 20h7" />
    </>
  ),
  help: (
    <>
      <circle cx="12" cy="12" r="9" />
      <path d="M9.6 9.4a2.5 2.5 0 1 1 3.6 2.3c-.8.4-1.2.9-1.2 1.8M12 16.8v.1" />
    </>
  ),
  out: <path d="M14 4h4a2 2 0 0 1 2 2v12a2 2 0 0 1-2 2h-4M10 8l-4 4 4 4M6.5 12H15" />,
  back: <path d="M15 5l-7 7 7 7" />,
  inbox: (
    <path d="M3.5 13h4.2l1.6 2.8h5.4l1.6-2.8h4.2M6 5h12l2.5 8v4.5a1.5 1.5 0 0 1-1.5 1.5H5a1.5 1.5 0 0 1-1.5-1.5V13z" />
  ),
} as const;

/** A decorative icon. The element that contains it has a name. */
export function Icon({ name }: { name: keyof typeof shapes }): ReactNode {
  return (
    <svg className="icon-shape" viewBox="0 0 24 24" aria-hidden="true">
      {shapes[name]}
    </svg>
  );
}
