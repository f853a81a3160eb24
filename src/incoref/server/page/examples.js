// Texts to try it with: turns with speakers, or paragraphs of sentences.

export const EXAMPLES = [
  {
    name: "A dialogue",
    about: "three flatmates and a lost key",
    turns: [
      ["Mira", "Has anyone seen my bike key? I left it on the kitchen table."],
      ["Jonas", "I think Lena took it this morning. She wanted to lock the cellar."],
      ["Lena", "I did, but I put it back. Jonas, you moved the table, didn't you?"],
      ["Jonas", "Right. I pushed it to the window because the plumber needed room."],
      ["Mira", "The plumber? What did he do here?"],
      ["Lena", "He repaired the sink. It had been dripping for weeks, and Mrs. Adler downstairs complained about it."],
      ["Mira", "She complains about everything. Did you ask him to look at the shower?"],
      ["Jonas", "We did. He says it needs a new valve, and he will bring one on Friday."],
      ["Lena", "Mira, look under the plant. Your key is there."],
      ["Mira", "There it is! Thank you, Lena."],
    ],
  },
  {
    name: "A story",
    about: "the lighthouse keeper and her dog",
    paragraphs: [
      [
        "Old Marta Holm had kept the lighthouse on Gull Rock for thirty years.",
        "Her dog, a grey mongrel called Biscuit, had been with her for nine of them.",
        "Every evening the two climbed the stairs together, and when the lamp was lit he lay down beside it.",
      ],
      [
        "One night in November a storm came up from the west.",
        "Marta was asleep when Biscuit began to bark.",
        "She followed him down to the shore, where a small boat had struck the rocks.",
        "A boy was clinging to it.",
        "His hands were blue, and he could hardly speak.",
      ],
      [
        "Marta wrapped the boy in her coat and carried him up to the house.",
        "His name was Tom, he told her, and his father was still out there.",
        "She lit the lamp again, which the wind had blown out, and turned it towards the sea.",
        "At dawn a fishing boat followed its light into the bay.",
        "The man who jumped from it ran up the path, and Tom ran to meet his father.",
        "Biscuit watched them from the door, and then he went back to sleep.",
      ],
    ],
  },
  {
    name: "A news text",
    about: "a town, a bridge and a vote",
    paragraphs: [
      [
        "The town council of Westbrook voted on Tuesday to close the Miller Bridge for two years.",
        "Engineers had found cracks in its northern pillar last spring.",
        "Mayor Helen Ortega said the decision was hard but necessary.",
        "“We can repair the bridge now, or we can watch it fall,” she told reporters after the meeting.",
      ],
      [
        "The repair will cost about nine million dollars.",
        "The state has promised to pay half of it, and the council hopes to borrow the rest.",
        "Daniel Brandt, who owns a bakery near the bridge, fears for his business.",
        "“Most of my customers walk across it every morning,” Brandt said.",
        "His neighbours have collected four hundred signatures against the plan.",
      ],
      [
        "Ortega promised to meet them next week.",
        "She said the town would run a free ferry until the bridge opens again.",
        "Brandt called it a good start, but he does not believe that it will be enough.",
      ],
    ],
  },
];
